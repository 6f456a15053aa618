-- Where the rows of these runs are, in their order, locked; null for one that the node does not hold so.
create or replace function lock_held(node_ bigint, outcomes_ outcome[]) returns tid[] language plpgsql
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare tids tid[];
begin
  select array_agg(r.tid order by g.place) into tids
  from unnest(outcomes_) with ordinality
    as g(job, run, attempt, fence, status, started, finished, error, output, reason, retry, place)
  left join lateral (
    select run.ctid as tid
    from run
    where run.job = g.job and run.run = g.run and run.owner = node_
      and run.fence = g.fence and run.attempt = g.attempt
    for update
  ) r on true;
  return tids;
end $$;

-- How many of these outcomes history has.
create or replace function count_recorded(outcomes_ outcome[]) returns bigint language plpgsql
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  return (
    select count(*)
    from unnest(outcomes_) as x
    join history h on h.job = any(array[x.job]) and h.run between x.run and x.run
      and h.attempt = x.attempt and h.fence = x.fence
  );
end $$;

-- Outcomes of many runs. Drives from the arrays with one index lookup each, takes the row lock there,
-- and deletes by ctid. In two statements: whoever wrote to a row before we had its lock has committed
-- by the time the second one begins. In one, a row that was just marked as started would be recorded
-- and yet stay (its new version is not in the snapshot), and a cancel just accepted would be overlooked.
create or replace function finish(node_ bigint, outcomes_ outcome[])
returns table (accepted bigint, repeated bigint, stale bigint, retry_at bigint) language plpgsql
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare cancel_requests boolean; tids tid[]; ended run_ended[];
begin
  perform require_alive(node_);
  tids := lock_held(node_, outcomes_);
  select exists (select from signal where node = node_) into cancel_requests;
  with held as materialized (
    select g.*, run.version, run.lane, run.traits, run.priority, run.due, run.rescues, run.payload,
      case when cancel_requests then (select s.reason from signal s where s.node = node_ and s.job = g.job and s.run = g.run) end as cancel_request
    from rows from (unnest(tids), unnest(outcomes_))
      as g(tid, job, run, attempt, fence, status, started, finished, error, output, reason, retry)
    join run on run.ctid = g.tid
  ), settled as materialized (
    select h.*, case when h.retry is not null and h.cancel_request is null then h.retry end as again
    from held h
  ), gone as (
    delete from run where ctid = any(array(select tid from settled))
  ), past as (
    insert into history (job, run, attempt, fence, version, status, due, started, finished, node, rescues, error, output, reason)
    select job, run, attempt, fence, version, 7, due, started, finished, node_, rescues, error, output, reason
    from settled
    where again is not null
  ), once_more as (
    insert into waiting (job, run, version, lane, traits, priority, due, at, attempt, rescues, fence, payload)
    select job, run, version, lane, traits, priority, due, again, attempt + 1, rescues, fence + 1, payload
    from settled
    where again is not null
  )
  select count(*), min(again), array_agg((
    job, run, attempt, fence, version,
    case
      when retry is not null then 3
      when status = 'succeeded' then 1 when status = 'failed' then 2 when status = 'cancelled' then 3 when status = 'lost' then 6
    end,
    due, started, finished, node_, rescues, error, output,
    case when retry is not null then cancel_request else reason end, payload, traits
  )::run_ended) filter (where again is null)
  into accepted, retry_at, ended
  from settled;
  if ended is not null then
    retry_at := least(retry_at, end_runs(ended));
  end if;
  -- Those that were accepted are in history by now, too.
  repeated := case when accepted < cardinality(outcomes_) then count_recorded(outcomes_) - accepted else 0 end;
  stale := cardinality(outcomes_) - accepted - repeated;
  return next;
end $$;
