-- name: ledger.past
-- why: status 7 is an attempt that was followed by another, so each run has one row left
select job, run, version, status, due, attempt, rescues, started, finished, node, error, output, reason, until, count
from history
where job = :job and run < :before and status <> 7
order by run desc
limit :limit

-- name: ledger.past_run
select job, run, version, status, due, attempt, rescues, started, finished, node, error, output, reason, until, count
from history
where job = :job and run = :run and status <> 7

-- name: ledger.live_of_job
select job, run, version, due, at, attempt, rescues, owner, started
from run
where job = :job and run < :before
order by run desc
limit :limit

-- name: ledger.waiting_of_job
select job, run, version, due, at, attempt, rescues, null, null
from waiting
where job = :job and run < :before
order by run desc
limit :limit

-- name: ledger.live_run
select job, run, version, due, at, attempt, rescues, owner, started
from run
where job = :job and run = :run
union all
select job, run, version, due, at, attempt, rescues, null, null
from waiting
where job = :job and run = :run

-- name: ledger.attempts
select attempt, status, started, finished, node, error, output, reason
from history
where job = :job and run = :run and attempt > 0
order by attempt

-- name: ledger.last_error
select error
from history
where job = :job and run = :run
order by attempt desc
limit 1

-- name: ledger.live
select job, run, version, due, at, attempt, rescues, owner, started
from run
where at <= :now
limit :limit

-- name: ledger.recent
select job, run, version, status, due, attempt, rescues, started, finished, node, error, output, reason, until, count
from history
where status <> 7
order by id desc
limit :limit

-- name: ledger.failed
select d.job, d.run, d.version, 2, d.due, d.attempt, coalesce(h.rescues, 0), h.started, d.failed_at,
  h.node, d.error, h.output, h.reason, null, null
from dead d
left join history h on h.job = d.job and h.run = d.run and h.attempt = d.attempt
order by d.failed_at desc
limit :limit

-- name: ledger.coming_entries
-- why: an entry of an ended version may lie behind its cut and stands for nothing
select c.job, c.due
from clock c
where c.shard = :shard
  and not exists (select 1 from cut x where x.job = c.job and x.version = c.version and x.cut < c.due)
order by c.due
limit :limit

-- name: ledger.coming_runs
select job, at
from waiting
where job % 16 = :shard
order by at
limit :limit

-- name: ledger.name_of
select name
from job
where id = :job
union all
select name
from job_version
where job = :job and deleted
limit 1

-- name: ledger.version
select definition, payload, anchor
from job
where id = :job and version = :version
union all
select definition, payload, anchor
from job_version
where job = :job and version = :version

-- name: ledger.counts
select (select count(*) from job),
  (select count(*) from run where owner is null and at <= :now),
  (select count(*) from aside)

-- name: ledger.set_aside
select a.why
from aside a
join job j on j.id = a.job and j.version = a.version
where a.job = :job

-- name: ledger.depth
select count(*), min(at)
from (select at from run where owner is null and lane = :lane and at <= :now limit :most)

-- name: ledger.backlog
-- why: a limit inside each count: a scrape must not read millions of rows
select (select count(*) from (select 1 from waiting limit :most)),
  (select count(*) from (select 1 from dead limit :most)),
  (select count(*) from (select 1 from aside limit :most)),
  (select count(*) from (select 1 from outbox where at is not null limit :most)),
  (select count(*) from (select 1 from outbox where given_up_at is not null limit :most))

-- name: ledger.totals
select count(*), count(distinct job || '-' || run)
from (
  select job, run from history where status <> 7 and due <= :until
  union all
  select job, run from run where due <= :until
  union all
  select job, run from waiting where due <= :until
)
