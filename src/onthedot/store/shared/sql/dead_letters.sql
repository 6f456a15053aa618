-- name: dead_letters.page
-- why: a row value, so that the index on (failed_at, job, run) finds the place at once
select d.job, d.run, d.version, d.attempt, d.due, d.failed_at, d.error, d.payload, j.name
from dead d
left join job j on j.id = d.job
where (d.failed_at, d.job, d.run) < (:failed_at, :job, :run)
order by d.failed_at desc, d.job desc, d.run desc
limit :limit

-- name: dead_letters.of_job
select d.job, d.run, d.version, d.attempt, d.due, d.failed_at, d.error, d.payload, j.name
from dead d
left join job j on j.id = d.job
where d.job = :job and d.run < :before
order by d.run desc
limit :limit

-- name: dead_letters.get
select d.job, d.run, d.version, d.attempt, d.due, d.failed_at, d.error, d.payload, j.name
from dead d
left join job j on j.id = d.job
where d.job = :job and d.run = :run

-- name: dead_letters.take
delete from dead
where job = :job and run = :run
returning run, due, payload

-- name: dead_letters.dismiss_all
-- why: on PostgreSQL locked in the order in which redrives lock them, so that the two cannot wait for each other
with taken (taken_run) as materialized (
  select run
  from dead
  where job = :job
  order by run
  limit :limit
-- postgres: for update
)
delete from dead
where job = :job and run in (select taken_run from taken)
returning run

-- name: dead_letters.successor
select run
from redrive
where job = :job and old = :run
