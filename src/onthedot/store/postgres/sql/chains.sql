-- name: chains.lock
select job, run, version, lane, traits, priority, delay, late, ends, turns, parked, waiting, live
from lock_chain($1)

-- name: chains.put
insert into chain (job, run, version, lane, traits, priority, delay, late, ends, turns, parked)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
on conflict (job) do update
set run = excluded.run, version = excluded.version, lane = excluded.lane, traits = excluded.traits,
  priority = excluded.priority,
  delay = excluded.delay, late = excluded.late, ends = excluded.ends, turns = excluded.turns, parked = excluded.parked

-- name: chains.drop
delete from chain
where job = $1
