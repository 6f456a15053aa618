-- name: outbox.take
-- why: what another node is just taking is passed over; it is that node's for a while
with due as materialized (
  select job, run
  from outbox
  where at <= $1
  order by at, job, run
  limit $3
  for update skip locked
)
update outbox o
set at = $2, tries = o.tries + 1
from due
where o.job = due.job and o.run = due.run
returning o.job, o.run, o.url, o.job_name, o.job_key, o.status, o.due, o.attempt, o.failed_at, o.error,
  o.reason, o.tries

-- name: outbox.lock
-- why: in one order, so that two nodes that settle the same ones cannot wait for each other
select o.job, o.run
from unnest($1::bigint[], $2::bigint[], $3::integer[]) as x(job, run, tries)
join outbox o on o.job = x.job and o.run = x.run and o.tries = x.tries
where o.at is not null
order by o.job, o.run
for update of o

-- name: outbox.delivered
delete from outbox
where job = $1 and run = $2

-- name: outbox.put_off
-- why: without a next instant it is given up, and stays for people to see
update outbox
set at = $3, trouble = $4, given_up_at = case when $3::bigint is null then $5::bigint end
where job = $1 and run = $2

-- name: outbox.get
select url, tries, at, given_up_at, trouble
from outbox
where job = $1 and run = $2
