-- name: outbox.note
-- why: most jobs ask for nothing, so the text of the definition decides, not a column of every job
insert into outbox (job, run, url, job_name, job_key, status, due, attempt, failed_at, error, reason, tries, at)
select h.job, h.run, j.definition ->> '$.on_failure_url', j.name, j.key, h.status, h.due, h.attempt,
  h.finished, h.error, h.reason, 0, h.finished
from history h
join job j on j.id = h.job
where h.job = ? and h.run = ? and h.attempt = ? and j.definition ->> '$.on_failure_url' is not null
on conflict (job, run) do nothing

-- name: outbox.due
select job, run
from outbox
where at <= :now
order by at, job, run
limit :limit

-- name: outbox.take
update outbox
set at = ?, tries = tries + 1
where job = ? and run = ?
returning job, run, url, job_name, job_key, status, due, attempt, failed_at, error, reason, tries

-- name: outbox.delivered
delete from outbox
where job = ? and run = ? and tries = ? and at is not null

-- name: outbox.put_off
-- why: without a next instant it is given up, and stays for people to see
update outbox
set at = :next_at, trouble = :trouble, given_up_at = case when :next_at is null then :now end
where job = :job and run = :run and tries = :tries and at is not null

-- name: outbox.get
select url, tries, at, given_up_at, trouble
from outbox
where job = ? and run = ?
