-- Of runs that have just failed, or are lost, a notice goes into the outbox if their job asks for it.
create or replace function note_failures(ended_ run_ended[]) returns void language plpgsql
set jit = off set enable_seqscan = off as $$
begin
  if exists (select from unnest(ended_) as e where is_failure(e.status)) then
    insert into outbox (job, run, url, job_name, job_key, status, due, attempt, failed_at, error, reason, tries, at)
    select e.job, e.run, j.definition::jsonb ->> 'on_failure_url', j.name, j.key, e.status, e.due, e.attempt,
      e.finished, e.error, e.reason, 0, e.finished
    from unnest(ended_) as e
    join job j on j.id = e.job
    where is_failure(e.status) and j.definition::jsonb ? 'on_failure_url'
    on conflict (job, run) do nothing;
  end if;
end $$;
