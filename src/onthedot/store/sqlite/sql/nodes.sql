-- name: nodes.join
insert into node (boot_id, host, pid, process, roles, slots, version, queues, functions, runners, joined_at, beat_at)
values (:boot_id, :host, :pid, :process, :roles, :slots, :version, :queues, :functions, :runners, :now, :now)

-- name: nodes.is_alive
select exists (select 1 from node where id = ? and dead_at is null)

-- name: nodes.beat
-- why: later than the last one whatever the clock says, since a beat that changes nothing is silence
update node
set beat_at = max(beat_at + 1, :now), running = :running, held = :held, offset_us = :offset_us,
  claiming = :claiming
where id = :node and dead_at is null

-- name: nodes.alive
select id, roles, claiming
from node
where dead_at is null
order by id

-- name: nodes.pulse
select joined_at, beat_at
from node
where id = ?

-- name: nodes.silent
select id
from node
where dead_at is null and beat_at < ?

-- name: nodes.die
update node
set dead_at = ?
where id = ? and dead_at is null

-- name: nodes.unsettled
select id
from node
where dead_at is not null and settled = 0
order by id

-- name: nodes.settle
update node
set settled = 1
where id = ?

-- name: nodes.all
select id, boot_id, host, pid, process, roles, slots, version, queues, functions, runners, joined_at, beat_at, dead_at,
  running, held, offset_us, claiming, settled
from node
order by id desc
