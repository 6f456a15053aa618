-- name: dead_letters.oldest
select run, due, payload
from dead
where job = :job
order by run
limit :limit

-- name: dead_letters.remember
insert into redrive (job, run, old)
values (?, ?, ?)

-- name: dead_letters.redrive_of
select old
from redrive
where job = ? and run = ?
