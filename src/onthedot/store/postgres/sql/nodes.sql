-- name: nodes.join
insert into node (boot_id, host, pid, process, roles, slots, version, queues, functions, runners, joined_at, beat_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)
returning id

-- name: nodes.beat
-- why: later than the last one whatever the clock says, since a beat that changes nothing is silence. One
-- that is older than the node remembers is left as it is: it shows that the database went back
update node
set beat_at = greatest(beat_at + 1, $2), running = $3, held = $4, offset_us = $5, claiming = $6
where id = $1 and dead_at is null and ($7::bigint[] is null or joined_at = $7[1] and beat_at >= $7[2])
returning id

-- name: nodes.alive
-- why: those that were seen alive, too: a row that is gone or older than it was shows a rollback
select id, roles, claiming, joined_at, beat_at, dead_at is null
from node
where dead_at is null or id = any($1::bigint[])
order by id

-- name: nodes.declare_dead
-- why: the row lock waits for nobody (a node that is writing is not dead), and the age is judged
-- again under it; whoever holds the key share commits before this
with silent as (
  select id
  from node
  where dead_at is null and (beat_at < $1 or id = any($2::bigint[]))
  for update skip locked
)
update node
set dead_at = $3
from silent
where node.id = silent.id
returning node.id

-- name: nodes.leave
-- why: an update alone does not wait for whoever holds the key share, so that a claim of the node
-- could be committed after its death, and then belong to nobody who is looked at again
with leaving as (
  select id
  from node
  where id = $1 and dead_at is null
  for update
)
update node
set dead_at = $2
from leaving
where node.id = leaving.id

-- name: nodes.all
select id, boot_id, host, pid, process, roles, slots, version, queues, functions, runners, joined_at, beat_at, dead_at,
  running, held, offset_us, claiming, settled
from node
order by id desc

-- name: nodes.time
select (extract(epoch from clock_timestamp()) * 1000000)::bigint
