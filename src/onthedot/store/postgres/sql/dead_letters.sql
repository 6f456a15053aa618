-- name: dead_letters.page
select d.job, d.run, d.version, d.attempt, d.due, d.failed_at, d.error, d.payload, j.name
from dead d
left join job j on j.id = d.job
where (d.failed_at, d.job, d.run) < ($1, $2, $3)
order by d.failed_at desc, d.job desc, d.run desc
limit $4

-- name: dead_letters.of_job
select d.job, d.run, d.version, d.attempt, d.due, d.failed_at, d.error, d.payload, j.name
from dead d
left join job j on j.id = d.job
where d.job = $1 and d.run < $2
order by d.run desc
limit $3

-- name: dead_letters.get
select d.job, d.run, d.version, d.attempt, d.due, d.failed_at, d.error, d.payload, j.name
from dead d
left join job j on j.id = d.job
where d.job = $1 and d.run = $2

-- name: dead_letters.lock_job
-- why: a delete waits until the new runs are there, and then ends them; one that was quicker is seen
select id
from job
where id = $1
for key share

-- name: dead_letters.redrive
select old, new
from redrive_dead_letters($1, $2, $3, $4)

-- name: dead_letters.dismiss
delete from dead
where job = $1 and run = $2
returning run

-- name: dead_letters.dismiss_all
-- why: locked in the order in which redrives lock them, so that the two cannot wait for each other
with taken as (
  select run
  from dead
  where job = $1
  order by run
  limit $2
  for update
)
delete from dead
using taken
where dead.job = $1 and dead.run = taken.run
returning dead.run

-- name: dead_letters.origins
select x.job, x.run, r.old
from unnest($1::bigint[], $2::bigint[]) as x(job, run)
join redrive r on r.job = x.job and r.run = x.run

-- name: dead_letters.successor
select run
from redrive
where job = $1 and old = $2
