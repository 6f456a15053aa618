-- name: audit.jobs
-- why: a deleted job has its versions left, and its books must balance, too
select id
from (
  (select id from job where id > $1 order by id limit $2)
  union
  (select distinct job from job_version where job > $1 order by job limit $2)
) known
order by id
limit $2

-- name: audit.edge
select pruned_before
from installation

-- name: audit.versions
select version, definition, anchor, since, skipping_from, cut, deleted
from job_version
where job = $1
order by version desc
limit $2

-- name: audit.current
select version, definition, anchor, since, skipping_from, null, false
from job
where id = $1

-- name: audit.created_at
select created_at
from job
where id = $1

-- name: audit.live
-- why: occurrences only: what was triggered stands in no schedule
select run >> 10, at, owner, started
from run
where job = $1 and run & 1023 = 0
union all
select run >> 10, at, null, null
from waiting
where job = $1 and run & 1023 = 0
order by 1
limit $2

-- name: audit.aside
select version, due
from aside
where job = $1

-- name: audit.unfired
-- why: the clock has no index on jobs; of what is due there is little, so that is read
select e.version, e.due
from (
  select jobs, versions, dues from near where shard = $2 and slot <= $4
  union all
  select jobs, versions, dues from far where shard = $2 and slot <= $5
) packed, unnest(packed.jobs, packed.versions, packed.dues) as e(job, version, due)
where e.job = $1 and e.due <= $3

-- name: audit.fates
-- why: status 7 is an attempt that was followed by another
select run >> 10, coalesce(until, run >> 10), status, reason, count, version
from history
where job = $1 and run > $2 and run & 1023 = 0 and status <> 7
order by run
limit $3

-- name: audit.fate_before
-- why: a range that began before may reach far beyond
select run >> 10, coalesce(until, run >> 10), status, reason, count, version
from history
where job = $1 and run <= $2 and run & 1023 = 0 and status <> 7
order by run desc
limit 1

-- name: audit.link
select run >> 10, parked
from chain
where job = $1
