-- Of runs that have just failed, or are lost, a notice goes into the outbox if their job asks for it.
create or replace function note_failures(runs_ run_ref[])
returns void language sql set jit = off set enable_seqscan = off as $$
  insert into outbox (job, run, url, job_name, job_key, status, due, attempt, failed_at, error, reason, tries, at)
  select h.job, h.run, j.definition::jsonb ->> 'on_failure_url', j.name, j.key, h.status, h.due, h.attempt,
    h.finished, h.error, h.reason, 0, h.finished
  from unnest(runs_) as x
  join history h on h.job = any(array[x.job]) and h.run between x.run and x.run and h.fence = x.fence
  join job j on j.id = h.job
  where h.status in (2, 6) and j.definition::jsonb ? 'on_failure_url'
  on conflict (job, run) do nothing
$$;
