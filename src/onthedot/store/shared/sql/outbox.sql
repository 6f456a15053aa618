-- name: outbox.take
-- why: what another node is just taking is passed over; it is that node's for a while
with taken (due_job, due_run) as materialized (
  select job, run
  from outbox
  where at <= :now
  order by at, job, run
  limit :limit
-- postgres: for update skip locked
)
update outbox
set at = :until, tries = tries + 1
from taken
where job = due_job and run = due_run
returning job, run, url, job_name, job_key, status, due, attempt, failed_at, error, reason, tries

-- name: outbox.delivered
delete from outbox
where job = :job and run = :run and tries = :tries and at is not null
returning run

-- name: outbox.put_off
-- why: without a next instant it is given up, and stays for people to see
update outbox
set at = :next_at, trouble = :trouble,
  given_up_at = case when cast(:next_at as bigint) is null then cast(:now as bigint) end
where job = :job and run = :run and tries = :tries and at is not null
returning run

-- name: outbox.get
select url, tries, at, given_up_at, trouble
from outbox
where job = :job and run = :run
