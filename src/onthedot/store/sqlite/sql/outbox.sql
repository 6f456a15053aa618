-- name: outbox.note
-- why: most jobs ask for nothing, so the text of the definition decides, not a column of every job
insert into outbox (job, run, url, job_name, job_key, status, due, attempt, failed_at, error, reason, tries, at)
select h.job, h.run, j.definition ->> '$.on_failure_url', j.name, j.key, h.status, h.due, h.attempt,
  h.finished, h.error, h.reason, 0, h.finished
from history h
join job j on j.id = h.job
where h.job = ? and h.run = ? and h.attempt = ? and j.definition ->> '$.on_failure_url' is not null
on conflict (job, run) do nothing
