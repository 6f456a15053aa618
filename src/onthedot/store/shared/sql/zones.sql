-- name: zones.used
select id, spec
from rule
where id > :after
order by id
limit :limit

-- name: zones.all
select name, release, offsets, told_at, shard is not null or again_at is not null
from zone
order by name

-- name: zones.get
select release, offsets
from zone
where name = :name
-- postgres: for update

-- name: zones.insert
insert into zone (name, release, offsets)
values (:name, :release, :offsets)
on conflict (name) do nothing
returning name

-- name: zones.renew
update zone
set release = :release, offsets = :offsets
where name = :name

-- name: zones.change
update zone
set release = :release, before = offsets, offsets = :offsets, told_at = :now, shard = 0, job = 0, again_at = :again_at
where name = :name

-- name: zones.moves
select at, zone, release, job, name, version, old, new
from zone_move
order by id desc
limit :limit

-- name: zones.told
-- why: as long as entries are still to be looked at, nothing that was due by now can be told
select name, case when shard is not null or again_at is not null then cast(:until as bigint) else told_at end
from zone
where told_at is not null
