-- What a deleted job leaves behind: runs that nobody holds end with it, the holders of the others are
-- told. Every row is locked first, since in between a run may be leased, given back or retried; one
-- that moves from one table to the other while we wait for it is met in the next round.
create or replace function end_runs(job_ bigint, now_ bigint) returns void language plpgsql as $$
declare locked_waiting bigint; locked_live bigint; there bigint;
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
  with waiting_ones as (
    delete from waiting where job = job_ returning job, run, attempt, fence, version, due, rescues
  ), live_ones as (
    delete from run where job = job_ and owner is null returning job, run, attempt, fence, version, due, rescues
  )
  insert into history (job, run, attempt, fence, version, status, due, finished, rescues, reason)
  select job, run, attempt, fence, version, 3, due, now_, rescues, 'job deleted'
  from (select * from waiting_ones union all select * from live_ones) ended;
  -- After the rows, as everybody does: those who hold a link end it later, and find no chain.
  delete from chain where job = job_;
end $$;
