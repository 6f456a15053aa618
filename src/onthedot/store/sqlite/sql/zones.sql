-- name: zones.pending
select name, release, before, shard, job
from zone
where shard is not null or again_at <= :now
order by shard is null, name
limit 1

-- name: zones.jobs_of
-- why: a zone stands in the text of rules, of which there are few
select j.id
from job j
join rule r on r.id = j.rule
where j.id > :job and j.id % 16 = :shard and j.armed
  and coalesce(json_extract(r.spec, '$.schedule.timezone'), json_extract(r.spec, '$.calendar.timezone')) = :zone
order by j.id
limit :limit

-- name: zones.entries
-- why: the clock has no index on jobs; a shard is read once for each group
select job, version, due
from clock
where shard = :shard and job in (select value from json_each(:jobs))

-- name: zones.settled
-- why: status 7 is an attempt that was followed by another, in one of the other two
select max(
  coalesce((select pruned_before from installation), 0),
  coalesce((select coalesce(until, run >> 10) from history
    where job = :job and run & 1023 = 0 and status <> 7 order by run desc limit 1), 0),
  coalesce((select max(run) >> 10 from run where job = :job and run & 1023 = 0), 0),
  coalesce((select max(run) >> 10 from waiting where job = :job and run & 1023 = 0), 0)
)

-- name: zones.advance
update zone
set shard = :shard, job = :job
where name = :name

-- name: zones.begin_again
update zone
set shard = 0, job = 0, again_at = null
where name = :name

-- name: zones.done
update zone
set shard = null, job = 0, told_at = :now
where name = :name

-- name: zones.insert_move
insert into zone_move (at, zone, release, job, name, version, old, new)
values (?, ?, ?, ?, ?, ?, ?, ?)

-- name: zones.forget_moves
delete from zone_move
where id <= (select max(id) from zone_move) - ?
