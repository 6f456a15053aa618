-- name: notes.add
select note(proven($1, $3::bigint[]), $2)

-- name: notes.checkpoints
select m.job, m.run, m.checkpoint
from unnest($1::bigint[], $2::bigint[]) as x(job, run)
join memo m on m.job = x.job and m.run = x.run
where m.checkpoint is not null

-- name: notes.progress
select m.job, m.run, m.progress
from unnest($1::bigint[], $2::bigint[], $3::integer[]) as x(job, run, attempt)
join memo m on m.job = x.job and m.run = x.run and m.attempt = x.attempt

-- name: notes.lines
select fence, number, attempt, lines
from log
where job = $1 and run = $2 and (fence, number) > ($3, $4)
order by fence, number
limit $5
