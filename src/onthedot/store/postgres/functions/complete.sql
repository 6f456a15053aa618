-- The end of an attempt inside the transaction in which its function has written. The fence names the
-- lease, and so the node on whose behalf it is: a dead one is refused by finish. A process that freezes
-- from here on must not keep the locks. SQLSTATE OT006: the lease is gone.
create or replace function complete(
  job_ bigint, run_ bigint, attempt_ integer, fence_ integer, started_ bigint, finished_ bigint
) returns void language plpgsql set search_path from current as $$
declare owner_ bigint; n bigint;
begin
  perform set_config('idle_in_transaction_session_timeout', '5000', true);
  select r.owner into owner_
  from run r
  where r.job = job_ and r.run = run_ and r.attempt = attempt_ and r.fence = fence_ and r.owner is not null;
  if found then
    select f.accepted into n
    from finish(owner_, array[(job_, run_, attempt_, fence_, 'succeeded', started_,
      greatest(started_, finished_), null, null, null, null)::outcome]) f;
  end if;
  if n is distinct from 1 then
    raise exception 'this attempt no longer holds its run, or has completed it: nothing was written'
      using errcode = 'OT006';
  end if;
end $$;
