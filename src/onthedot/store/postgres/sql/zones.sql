-- name: zones.pending
-- why: what somebody else is looking after is passed over
select name, release, before, shard, job
from zone
where shard is not null or again_at <= $1
order by shard is null, name
limit 1
for update skip locked

-- name: zones.jobs_of
-- why: without locks, since it may read many jobs to find a few; each is read again under its own
select j.id
from job j
join rule r on r.id = j.rule
where j.id > $3 and j.id % 16 = $2 and j.armed
  and coalesce(r.spec::jsonb -> 'schedule' ->> 'timezone', r.spec::jsonb -> 'calendar' ->> 'timezone') = $1
order by j.id
limit $4

-- name: zones.entries
-- why: the clock has no index on jobs; a shard is read once for each group
select e.job, e.version, e.due
from (
  select jobs, versions, dues from near where shard = $1 and jobs && $2::bigint[]
  union all
  select jobs, versions, dues from far where shard = $1 and jobs && $2::bigint[]
) packed, unnest(packed.jobs, packed.versions, packed.dues) as e(job, version, due)
where e.job = any($2::bigint[])

-- name: zones.settled
-- why: status 7 is an attempt that was followed by another, in one of the other two
select x.job, greatest(
  (select pruned_before from installation),
  (select coalesce(until, run >> 10) from history h
    where h.job = x.job and h.run & 1023 = 0 and h.status <> 7 order by h.run desc limit 1),
  (select max(run) >> 10 from run r where r.job = x.job and r.run & 1023 = 0),
  (select max(run) >> 10 from waiting w where w.job = x.job and w.run & 1023 = 0)
)
from unnest($1::bigint[]) as x(job)

-- name: zones.advance
update zone
set shard = $2, job = $3
where name = $1

-- name: zones.begin_again
update zone
set shard = 0, job = 0, again_at = null
where name = $1

-- name: zones.done
update zone
set shard = null, job = 0, told_at = $2
where name = $1

-- name: zones.insert_move
insert into zone_move (at, zone, release, job, name, version, old, new)
values ($1, $2, $3, $4, $5, $6, $7, $8)

-- name: zones.forget_moves
delete from zone_move
where id <= (select max(id) from zone_move) - $1
