-- For people with psql at hand: every run and every range once, live ones included.
create or replace view ledger as
with all_runs as (
  select job, run, due, attempt, started, finished, reason, until, count,
    case status
      when 1 then 'succeeded' when 2 then 'failed' when 3 then 'cancelled'
      when 4 then 'skipped' when 5 then 'missed' when 6 then 'lost'
    end as status
  from history
  where status <> 7
  union all
  select job, run, due, attempt, started, null, null, null, null,
    case when owner is not null and started is not null then 'running' else 'queued' end
  from run
  union all
  select job, run, due, attempt, null, null, null, null, null, 'scheduled'
  from waiting
)
select
  'job-' || to_hex(job) as job_id,
  (select id from installation) || '-' || to_hex(job) || '-' || to_hex(run) as run_id,
  to_timestamp(due / 1000000) + (due % 1000000) * interval '1 microsecond' as scheduled_for,
  status,
  attempt,
  to_timestamp(started / 1000000) + (started % 1000000) * interval '1 microsecond' as started_at,
  to_timestamp(finished / 1000000) + (finished % 1000000) * interval '1 microsecond' as finished_at,
  reason,
  to_timestamp(until / 1000000) + (until % 1000000) * interval '1 microsecond' as until,
  count
from all_runs;
