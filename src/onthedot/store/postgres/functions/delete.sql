-- What a deleted job leaves behind: runs that nobody holds end with it, the holders of the others are
-- told. Every row is locked first, since in between a run may be leased, given back or retried; one
-- that moves from one table to the other while we wait for it is met in the next round.
create or replace function end_runs_of(job_ bigint, now_ bigint) returns void language plpgsql as $$
declare locked_waiting bigint; locked_live bigint; there bigint; ended run_ended[];
begin
  for i in 1 .. 100 loop
    select count(*) into locked_waiting from (select from waiting where job = job_ for update) w;
    select count(*) into locked_live from (select from run where job = job_ for update) r;
    select (select count(*) from waiting where job = job_) + (select count(*) from run where job = job_) into there;
    exit when locked_waiting + locked_live = there;
  end loop;
  insert into signal (node, job, run, reason)
  select owner, job, run, 'job deleted'
  from run
  where job = job_ and owner is not null
  on conflict do nothing;
  -- After the locks on the rows, as everybody takes them, and before their end: no link follows. Those who
  -- hold a link end it later, and find no chain.
  delete from chain where job = job_;
  with waiting_ones as (
    delete from waiting where job = job_ returning job, run, attempt, fence, version, due, rescues, payload, traits
  ), live_ones as (
    delete from run where job = job_ and owner is null
    returning job, run, attempt, fence, version, due, rescues, payload, traits
  )
  select array_agg((
    job, run, attempt, fence, version, 3, due, null, now_, null, rescues, null, null, 'job deleted', payload, traits
  )::run_ended)
  into ended
  from (select * from waiting_ones union all select * from live_ones) free;
  if ended is not null then
    perform end_runs(ended);
  end if;
end $$;
