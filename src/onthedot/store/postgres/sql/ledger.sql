-- name: ledger.past
select job, run, version, status, due, attempt, rescues, started, finished, node, error, output, reason, until, count
from history
where job = $1 and run < $2 and status <> 7
order by run desc
limit $3

-- name: ledger.past_run
select job, run, version, status, due, attempt, rescues, started, finished, node, error, output, reason, until, count
from history
where job = $1 and run = $2 and status <> 7

-- name: ledger.live_of_job
select job, run, version, due, at, attempt, rescues, owner, started
from (
  select job, run, version, due, at, attempt, rescues, owner, started
  from run
  where job = $1 and run < $2
  union all
  select job, run, version, due, at, attempt, rescues, null, null
  from waiting
  where job = $1 and run < $2
) alive
order by run desc
limit $3

-- name: ledger.live_run
select job, run, version, due, at, attempt, rescues, owner, started
from run
where job = $1 and run = $2
union all
select job, run, version, due, at, attempt, rescues, null, null
from waiting
where job = $1 and run = $2

-- name: ledger.attempts
select attempt, status, started, finished, node, error, output, reason
from history
where job = $1 and run = $2 and attempt > 0
order by attempt

-- name: ledger.last_errors
select distinct on (h.job, h.run) h.job, h.run, h.error
from unnest($1::bigint[], $2::bigint[]) as x(job, run)
join history h on h.job = x.job and h.run = x.run
order by h.job, h.run, h.attempt desc

-- name: ledger.live
select job, run, version, due, at, attempt, rescues, owner, started
from run
where at <= $1
limit $2

-- name: ledger.recent
-- why: the newest partitions hold the newest runs; by run, since there is no index on finishing
select job, run, version, status, due, attempt, rescues, started, finished, node, error, output, reason, until, count
from history
where status <> 7 and run >= $1 and finished >= $2
order by finished desc
limit $3

-- name: ledger.failed
select d.job, d.run, d.version, 2::smallint, d.due, d.attempt, coalesce(h.rescues, 0), h.started, d.failed_at,
  h.node, d.error, h.output, h.reason, null::bigint, null::bigint
from (select * from dead order by failed_at desc limit $1) d
left join history h on h.job = d.job and h.run = d.run and h.attempt = d.attempt
order by d.failed_at desc

-- name: ledger.coming
select c.job, c.due
from (
  select e.job, e.version, e.due
  from (
    select s.id as shard, n.*
    from shard s
    cross join lateral (select jobs, versions, dues from near where shard = s.id order by slot limit $1) n
    union all
    select s.id, f.*
    from shard s
    cross join lateral (select jobs, versions, dues from far where shard = s.id order by slot limit $1) f
  ) packed, unnest(packed.jobs, packed.versions, packed.dues) as e(job, version, due)
) c
where not exists (select from cut x where x.job = c.job and x.version = c.version and x.cut < c.due)
union all
(select job, at from waiting order by at limit $1)
order by 2
limit $1

-- name: ledger.names
select id, name
from job
where id = any($1::bigint[])
union all
select job, name
from job_version
where job = any($1::bigint[]) and deleted

-- name: ledger.version
select definition, payload, anchor
from job
where id = $1 and version = $2
union all
select definition, payload, anchor
from job_version
where job = $1 and version = $2

-- name: ledger.counts
select (select count(*) from job),
  (select count(*) from run where owner is null and at <= $1),
  (select count(*) from aside)

-- name: ledger.set_aside
select a.why
from aside a
join job j on j.id = a.job and j.version = a.version
where a.job = $1

-- name: ledger.depths
-- why: a skip scan over the partial index, one probe a lane; a limit inside each count, since a
-- scrape must not read millions of rows
with recursive found (name) as (
  select min(r.lane) from run r where r.owner is null
  union all
  select (select min(r.lane) from run r where r.owner is null and r.lane > f.name) from found f where f.name is not null
)
select f.name, d.runs, d.oldest
from found f
cross join lateral (
  select count(*) as runs, min(q.at) as oldest
  from (select r.at from run r where r.owner is null and r.lane = f.name and r.at <= $1 limit $2) q
) d
where f.name is not null and d.runs > 0

-- name: ledger.backlog
select (select count(*) from (select from waiting limit $1) w),
  (select count(*) from (select from dead limit $1) d),
  (select count(*) from (select from aside limit $1) a),
  (select count(*) from (select from outbox where at is not null limit $1) o),
  (select count(*) from (select from outbox where given_up_at is not null limit $1) g)

-- name: ledger.totals
select count(*), count(distinct (job, run))
from (
  select job, run from history where status <> 7 and due <= $1
  union all
  select job, run from run where due <= $1
  union all
  select job, run from waiting where due <= $1
) every_run
