-- Runs that succeeded and left nothing more to be told: nearly all. One statement does it, since no
-- cancel request could change what became of them: a row that was just marked as started is looked at again when
-- its lock is free, and deleted as it is then.
create or replace function succeed(
  node_ bigint, jobs_ bigint[], runs_ bigint[], attempts_ integer[], fences_ integer[],
  started_ bigint[], finished_ bigint[]
) returns table (accepted bigint, repeated bigint, stale bigint, retry_at bigint) language plpgsql
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare followed run_ended[];
begin
  perform require_alive(node_);
  with gone as (
    delete from run
    using unnest(jobs_, runs_, attempts_, fences_, started_, finished_)
      as g(job, run, attempt, fence, started, finished)
    where run.job = any(array[g.job]) and run.run between g.run and g.run and run.owner = node_
      and run.fence = g.fence and run.attempt = g.attempt
    returning g.*, run.version, run.due, run.rescues, run.traits
  ), past as (
    insert into history (job, run, attempt, fence, version, status, due, started, finished, node, rescues)
    select job, run, attempt, fence, version, 1, due, started, finished, node_, rescues
    from gone
  )
  select count(*), array_agg((
    job, run, attempt, fence, version, 1, due, started, finished, node_, rescues, null, null, null, null, traits
  )::run_ended) filter (where is_followed(traits))
  into accepted, followed
  from gone;
  if followed is not null then
    retry_at := after_end(followed);
  end if;
  if exists (select from signal where node = node_) then
    delete from signal s
    using unnest(jobs_, runs_) as g(job, run)
    where s.node = node_ and s.job = g.job and s.run = g.run;
  end if;
  repeated := 0;
  if accepted < cardinality(jobs_) then
    -- Those that were accepted are in history by now, too.
    select count(*) - accepted into repeated
    from unnest(jobs_, runs_, attempts_, fences_) as g(job, run, attempt, fence)
    join history h on h.job = any(array[g.job]) and h.run between g.run and g.run
      and h.attempt = g.attempt and h.fence = g.fence;
  end if;
  stale := cardinality(jobs_) - accepted - repeated;
  return next;
end $$;
