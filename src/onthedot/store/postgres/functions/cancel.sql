-- Cancelling a run that nobody holds. Whether there was one.
create or replace function cancel_waiting(job_ bigint, run_ bigint, now_ bigint) returns boolean language plpgsql as $$
declare ended run_ended[];
begin
  with gone as (
    delete from waiting where job = job_ and run = run_ returning *
  )
  select array_agg((
    job, run, attempt, fence, version, 3, due, null, now_, null, rescues, null, null, 'cancelled by request', payload, traits
  )::run_ended)
  into ended
  from gone;
  perform end_runs(ended) where ended is not null;
  return ended is not null;
end $$;

create or replace function cancel_live(job_ bigint, run_ bigint, now_ bigint) returns boolean language plpgsql as $$
declare ended run_ended[];
begin
  with gone as (
    delete from run where job = job_ and run = run_ and owner is null returning *
  )
  select array_agg((
    job, run, attempt, fence, version, 3, due, null, now_, null, rescues, null, null, 'cancelled by request', payload, traits
  )::run_ended)
  into ended
  from gone;
  perform end_runs(ended) where ended is not null;
  return ended is not null;
end $$;
