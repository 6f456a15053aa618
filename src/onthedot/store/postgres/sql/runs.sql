-- name: runs.enqueue
select enqueue_many($1, $2, $3, $4, $4)

-- name: runs.enqueue_at_once
-- why: where there is no receipt to look for, the runs and their job in one round trip
select id, version, definition, payload, anchor, since, skipping_from, created_at, updated_at,
  (select run >> 10 from chain where chain.job = job.id), enqueue_many($1, $2, $3, $4, $4)
from job
where id = $1

-- name: runs.insert_waiting
insert into waiting (job, run, version, lane, traits, priority, due, at, attempt, rescues, fence, payload, expires)
values ($1, $2, $3, $4, $5, $6, $7, $8, 1, 0, 0, $9, $10)

-- name: runs.is_taken
select exists (select from run where job = $1 and run = $2)
  or exists (select from waiting where job = $1 and run = $2)
  or exists (select from history where job = $1 and run = $2)

-- name: runs.leave_waiting
delete from waiting
where job = $1 and run = $2

-- name: runs.promote
select job, run, version, lane, traits, priority, due, at, attempt, rescues, fence, payload, is_mine
from promote($1, $2, proven($3, $9::bigint[]), $4, $5, $6, $7, $8)

-- name: runs.lease
select job, run, version, lane, traits, priority, due, at, attempt, rescues, fence, payload
from lease(proven($1, $6::bigint[]), $2, $3, $4, $5)

-- name: runs.require_alive
select require_alive(proven($1, $2::bigint[]))

-- name: runs.started
update run
set started = x.started
from unnest($2::run_ref[], $3::bigint[]) as x(job, run, fence, started)
where run.job = x.job and run.run = x.run and run.owner = $1 and run.fence = x.fence and run.started is null

-- name: runs.succeed
select * from succeed(
  proven($1, $8::bigint[]), $2::text::bigint[], $3::text::bigint[], $4::text::integer[], $5::text::integer[],
  $6::text::bigint[], $7::text::bigint[]
)

-- name: runs.finish
select accepted, repeated, stale, retry_at
from finish(proven($1, $3::bigint[]), $2)

-- name: runs.complete
select complete($1, $2, $3, $4, $5, $6)

-- name: runs.begin_completing
-- why: the transaction by its number, since the function may end it and begin another
select
  exists (
    select
    from {place}.run
    where job = $1 and run = $2 and attempt = $3 and fence = $4 and owner is not null
  ) as is_held,
  pg_current_xact_id()::text as transaction

-- name: runs.complete_in
-- why: the filter comes first, so that nothing is completed in any transaction but the function's own
select {place}.complete(
  $1, $2, $3, $4, $5, (extract(epoch from pg_catalog.clock_timestamp()) * 1000000)::bigint
) is not null
where pg_catalog.pg_current_xact_id()::text = $6

-- name: runs.release
select release(proven($1, $4::bigint[]), $2, $3)

-- name: runs.owned
select job, run, fence
from run
where owner = $1

-- name: runs.rescue
select taken, lost
from rescue($1, $2)

-- name: runs.cancel_waiting
select cancel_waiting($1, $2, $3)

-- name: runs.lock
-- why: between looking and writing nobody may lease it, end it or give it back
select owner
from run
where job = $1 and run = $2
for update

-- name: runs.cancel_live
select cancel_live($1, $2, $3)

-- name: runs.ask
insert into signal (node, job, run, reason)
values ($1, $2, $3, $4)
on conflict do nothing

-- name: runs.signals
select job, run, reason
from signal
where node = $1
