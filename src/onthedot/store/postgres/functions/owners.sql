-- Runs that their owner no longer holds (`rescued`: it died; else it gave them back): anybody may
-- lease them, unless somebody wants them to end. What a dead owner may have started, and is started
-- at most once, ends as lost, whatever else was wished. Returns how many did.
create or replace function leave_owner(tids tid[], rescued boolean, now_ bigint) returns integer language plpgsql
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare lost integer := 0; refs run_ref[]; links run_end[];
begin
  if rescued then
    with unknown as (
      select r.ctid as tid, r.*,
        format('node %s died: whether it started this run, and how that ended, is unknown', r.owner) as words
      from run r
      where r.ctid = any(tids) and is_at_most_once(r.traits)
    ), past as (
      insert into history (job, run, attempt, fence, version, status, due, started, finished, node, rescues, error, reason)
      select job, run, attempt, fence, version, 6, due, started, now_, owner, rescues, words, 'node died' from unknown
    ), buried as (
      insert into dead (job, run, version, attempt, due, failed_at, error, payload)
      select job, run, version, attempt, due, now_, words, payload from unknown
    ), signals_deleted as (
      delete from signal s using unknown u where s.node = u.owner and s.job = u.job and s.run = u.run
    ), gone as (
      delete from run where ctid = any(array(select u.tid from unknown u))
    )
    select count(*), array_agg((job, run, fence)::run_ref),
      array_agg((job, run, now_)::run_end) filter (where is_chained(traits))
    into lost, refs, links
    from unknown;
    if lost > 0 then
      perform note_failures(refs);
    end if;
    if links is not null then
      perform advance_chain(links);
    end if;
  end if;
  with asked as (
    select r.ctid as tid, r.*, s.reason as cancel_request
    from run r
    join signal s on s.node = r.owner and s.job = any(array[r.job]) and s.run between r.run and r.run
    where r.ctid = any(tids)
  ), past as (
    insert into history (job, run, attempt, fence, version, status, due, finished, node, rescues, reason)
    select job, run, attempt, fence, version, 3, due, now_, owner, rescues, cancel_request from asked
  ), signals_deleted as (
    delete from signal s using asked a where s.node = a.owner and s.job = a.job and s.run = a.run
  ), gone as (
    delete from run where ctid = any(array(select a.tid from asked a))
  )
  select array_agg((job, run, now_)::run_end) filter (where is_chained(traits)) into links from asked;
  if links is not null then
    perform advance_chain(links);
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
