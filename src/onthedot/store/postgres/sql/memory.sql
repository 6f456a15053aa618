-- name: memory.sighting
select server_started(), l.timeline, l.flushed, i.epoch, i.pruned_before,
  coalesce(pg_sequence_last_value(pg_get_serial_sequence('job', 'id')::regclass), 0),
  coalesce(pg_sequence_last_value(pg_get_serial_sequence('rule', 'id')::regclass), 0),
  coalesce(pg_sequence_last_value(pg_get_serial_sequence('node', 'id')::regclass), 0)
from installation i, place_in_log() l

-- name: memory.epoch
-- why: locked, so that what was read is still so when the next one begins
select epoch
from installation
for update

-- name: memory.begin_epoch
select begin_epoch($1, $2, $3, $4, $5, $6, $7)

-- name: memory.declare_all_dead
-- why: for update, so that a claim under way is committed before the death of its node, or refused
with living as (
  select id
  from node
  where dead_at is null and ($2::text is null or boot_id = $2)
  for update
)
update node
set dead_at = $1
from living
where node.id = living.id

-- name: memory.gaps
select epoch, noticed_at, since, until, reason
from went_back
order by epoch
