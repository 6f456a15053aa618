-- name: audit.jobs
-- why: a deleted job has its versions left, and its books must balance, too
select id
from (
  select id from (select id from job where id > :after order by id limit :limit) current
  union
  select job from (select distinct job from job_version where job > :after order by job limit :limit) former
) known
order by id
limit :limit

-- name: audit.edge
select pruned_before
from installation

-- name: audit.versions
select version, definition, anchor, since, skipping_from, cut, deleted
from job_version
where job = :job
order by version desc
limit :limit

-- name: audit.current
select version, definition, anchor, since, skipping_from, null, false
from job
where id = :job

-- name: audit.created_at
select created_at
from job
where id = :job

-- name: audit.live
-- why: occurrences only: what was triggered stands in no schedule
select run >> 10, at, owner, started
from run
where job = :job and run & 1023 = 0
union all
select run >> 10, at, null, null
from waiting
where job = :job and run & 1023 = 0
order by 1
limit :limit

-- name: audit.aside
select version, due
from aside
where job = :job

-- name: audit.fates
-- why: status 7 is an attempt that was followed by another
select run >> 10, coalesce(until, run >> 10), status, reason, count, version
from history
where job = :job and run > :after and run & 1023 = 0 and status <> 7
order by run
limit :limit

-- name: audit.fate_before
-- why: a range that began before may reach far beyond
select run >> 10, coalesce(until, run >> 10), status, reason, count, version
from history
where job = :job and run <= :after and run & 1023 = 0 and status <> 7
order by run desc
limit 1

-- name: audit.link
select run >> 10, parked
from chain
where job = :job
