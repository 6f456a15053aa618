-- Runs that their owner no longer holds (`rescued`: it died; else it gave them back): anybody may
-- lease them, unless somebody wants them to end. What a dead owner may have started, and is started
-- at most once, ends as lost, whatever else was wished. Returns how many did.
create or replace function leave_owner(tids tid[], rescued boolean, now_ bigint) returns integer language plpgsql
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare lost integer; ended run_ended[];
begin
  with leaving as materialized (
    select r.ctid as tid, r.*, s.reason as cancel_request, rescued and is_at_most_once(r.traits) as is_lost,
      format('node %s died: whether it started this run, and how that ended, is unknown', r.owner) as words
    from run r
    left join signal s on s.node = r.owner and s.job = any(array[r.job]) and s.run between r.run and r.run
    where r.ctid = any(tids)
  ), over as materialized (
    select *
    from leaving
    where is_lost or cancel_request is not null
  ), gone as (
    delete from run where ctid = any(array(select o.tid from over o))
  )
  select count(*) filter (where is_lost), array_agg((
    job, run, attempt, fence, version, case when is_lost then 6 else 3 end, due, case when is_lost then started end, now_,
    owner, rescues, case when is_lost then words end, null, case when is_lost then 'node died' else cancel_request end,
    payload, traits
  )::run_ended)
  into lost, ended
  from over;
  if ended is not null then
    perform end_runs(ended);
  end if;
  update run set owner = null, fence = fence + 1, started = null, rescues = rescues + rescued::integer
  where ctid = any(tids);
  return lost;
end $$;

create or replace function release(node_ bigint, refs_ run_ref[], now_ bigint) returns integer language plpgsql
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare tids tid[];
begin
  perform require_alive(node_);
  select array_agg(tid) into tids from (
    select r.ctid as tid
    from unnest(refs_) as x
    join run r on r.job = any(array[x.job]) and r.run between x.run and x.run
      and r.fence = x.fence and r.owner = node_
    for update of r
  ) held;
  if tids is null then return 0; end if;
  perform leave_owner(tids, false, now_);
  return cardinality(tids);
end $$;

create or replace function rescue(limit_ integer, now_ bigint) returns table (taken integer, lost integer)
language plpgsql as $$
declare tids tid[]; n bigint; left_ integer := limit_;
begin
  lost := 0;
  for n in select id from node where dead_at is not null and not settled order by id loop
    select array_agg(tid) into tids from (
      select ctid as tid from run where owner = n limit left_ for update skip locked
    ) held;
    if tids is not null then
      lost := lost + leave_owner(tids, true, now_);
      left_ := left_ - cardinality(tids);
    end if;
    -- Locked rows were passed over: the node is settled only when nothing of it is left.
    if not exists (select from run where owner = n) then
      update node set settled = true where id = n;
    end if;
    exit when left_ <= 0;
  end loop;
  taken := limit_ - left_;
  return next;
end $$;
