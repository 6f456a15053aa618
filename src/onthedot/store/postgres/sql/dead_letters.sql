-- name: dead_letters.lock_job
-- why: a delete waits until the new runs are there, and then ends them; one that was quicker is seen
select id
from job
where id = $1
for key share

-- name: dead_letters.redrive
select old, new
from redrive_dead_letters($1, $2, $3, $4)

-- name: dead_letters.origins
select x.job, x.run, r.old
from unnest($1::bigint[], $2::bigint[]) as x(job, run)
join redrive r on r.job = x.job and r.run = x.run
