-- name: runs.insert_live
insert into run (job, run, version, lane, traits, priority, due, at, attempt, rescues, fence, payload, expires, owner)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: runs.insert_claimed
-- why: many rows at once, as clock.move. Occurrences have the payload of their job, and do not expire
insert or fail into run (job, run, version, lane, traits, priority, due, at, attempt, rescues, fence, owner)
with given (fence, owner) as (select ?, ?),
x (job, run, version, lane, traits, priority, due, at) as (values (?, ?, ?, ?, ?, ?, ?, ?))
select job, run, version, lane, traits, priority, due, at, 1, 0, (select fence from given), (select owner from given)
from x

-- name: runs.insert_waiting
insert into waiting (job, run, version, lane, traits, priority, due, at, attempt, rescues, fence, payload, expires)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: runs.is_taken
-- why: a number is the identity of a run for ever, wherever the run is
select exists (select 1 from run where job = :job and run = :run)
  or exists (select 1 from waiting where job = :job and run = :run)
  or exists (select 1 from history where job = :job and run = :run)

-- name: runs.highest
select max(highest)
from (
  select max(run) as highest from run where job = :job and run between :first and :last
  union all
  select max(run) from waiting where job = :job and run between :first and :last
  union all
  select max(run) from history where job = :job and run between :first and :last
)

-- name: runs.job_of
select version, lane, traits, priority
from job
where id = ?

-- name: runs.coming
select job, run, version, lane, traits, priority, due, at, attempt, rescues, fence, payload, expires
from waiting
where job % 16 = :shard and at <= :until
order by at, job, run
limit :limit

-- name: runs.leave_waiting
delete from waiting
where job = ? and run = ?

-- name: runs.leave_live
delete from run
where job = ? and run = ?

-- name: runs.lanes_with_work
-- why: a skip scan over the partial index, one probe a lane, however many runs wait in each
with recursive lanes (lane) as (
  select min(lane) from run where owner is null
  union all
  select (select min(r.lane) from run r where r.owner is null and r.lane > q.lane)
  from lanes q
  where q.lane is not null
)
select lane
from lanes
where lane is not null

-- name: runs.free
-- why: the order of the partial index is the order of leasing; ties by number make it repeatable
select job, run, at - priority * 60000000 as rank
from run
where owner is null and lane = :lane and at <= :now
order by at - priority * 60000000, job, run
limit :limit

-- name: runs.lease
update run
set owner = :node, fence = fence + 1, started = null,
  version = coalesce((select version from job where id = :job), version),
  lane = coalesce((select lane from job where id = :job), lane),
  traits = coalesce((select traits from job where id = :job), traits)
where job = :job and run = :run and owner is null
returning job, run, version, lane, traits, priority, due, at, attempt, rescues, fence, payload

-- name: runs.started
update run
set started = ?
where job = ? and run = ? and owner = ? and fence = ? and started is null

-- name: runs.finish
-- why: deleting under the fence and attempt is the check; a late writer deletes nothing
delete from run
where job = :job and run = :run and owner = :node and fence = :fence and attempt = :attempt
returning version, lane, traits, priority, due, rescues, payload

-- name: runs.finish_plainly
-- why: together with the delete below the same check, for successes by the thousand, many at once as
-- clock.move. The conflict is with the same outcome, given twice. 0 stands for null, which is slow to bind
insert or fail into history (job, run, attempt, fence, version, status, due, started, finished, node, rescues,
  error, output, reason)
with given (node) as (select ?),
o (job, run, attempt, fence, started, finished, error, output, reason) as (values (?, ?, ?, ?, ?, ?, ?, ?, ?))
select r.job, r.run, r.attempt, r.fence, r.version, 1, r.due, o.started, o.finished, r.owner, r.rescues,
  nullif(o.error, 0), nullif(o.output, 0), nullif(o.reason, 0)
from o
cross join run as r on r.job = o.job and r.run = o.run
where r.owner = (select node from given) and r.fence = o.fence and r.attempt = o.attempt
on conflict (job, run, attempt) do nothing

-- name: runs.last_recorded
select coalesce(max(id), 0)
from history

-- name: runs.leave_finished
delete from run
where (job, run) in (select job, run from history where id > ?)

-- name: runs.append
insert into history (job, run, attempt, fence, version, status, due, started, finished, node, rescues,
  error, output, reason, until, count)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: runs.recorded_fence
select fence
from history
where job = ? and run = ? and attempt = ?

-- name: runs.insert_dead_letter
insert or replace into dead (job, run, version, attempt, due, failed_at, error, payload)
values (?, ?, ?, ?, ?, ?, ?, ?)

-- name: runs.holder
select owner
from run
where job = :job and run = :run and fence = :fence and attempt = :attempt and owner is not null

-- name: runs.held
select job, run, version, attempt, rescues, fence, due, owner, started, payload, traits
from run
where job = :job and run = :run and owner = :node and fence = :fence

-- name: runs.find
select job, run, version, attempt, rescues, fence, due, owner, started, payload, traits
from run
where job = :job and run = :run
union all
select job, run, version, attempt, rescues, fence, due, null, null, payload, traits
from waiting
where job = :job and run = :run

-- name: runs.give_back
update run
set owner = null, fence = fence + 1, started = null
where job = ? and run = ?

-- name: runs.take_from_dead
update run
set owner = null, fence = fence + 1, started = null, rescues = rescues + 1
where job = ? and run = ?

-- name: runs.of_node
select job, run, version, attempt, rescues, fence, due, owner, started, payload, traits
from run
where owner = :node
limit :limit

-- name: runs.owned
select job, run, fence
from run
where owner = ?

-- name: runs.ask
insert into signal (node, job, run, reason)
values (?, ?, ?, ?)
on conflict do nothing

-- name: runs.what_else
-- why: plain successes are finished without a look at each, unless somebody asked for the end of one, or one
-- may be the link of a chain
select exists (select 1 from signal), exists (select 1 from chain)

-- name: runs.any_signal
select exists (select 1 from signal)

-- name: runs.signal_of
select reason
from signal
where node = ? and job = ? and run = ?

-- name: runs.signals
select job, run, reason
from signal
where node = ?

-- name: runs.drop_signal
delete from signal
where node = ? and job = ? and run = ?
