-- The end of runs, whoever ends them and for whatever reason. The caller has deleted their rows from `run`
-- or `waiting`, under locks of its own, and says here what became of them. History, dead letters, requests to
-- cancel and what follows an end are written here and nowhere else. Returns when the first run that follows is
-- due. Only `succeed` writes history by itself: of a plain success nothing else is kept, and the statement that
-- deletes it does both. It shares the hook.
create or replace function end_runs(ended_ run_ended[]) returns bigint language plpgsql
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare followed run_ended[];
begin
  with past as (
    insert into history (job, run, attempt, fence, version, status, due, started, finished, node, rescues, error, output, reason)
    select job, run, attempt, fence, version, status, due, started, finished, node, rescues, error, output, reason
    from unnest(ended_)
  ), letters as (
    insert into dead (job, run, version, attempt, due, failed_at, error, payload)
    select job, run, version, attempt, due, finished, error, payload
    from unnest(ended_)
    where is_failure(status)
    on conflict (job, run) do update set attempt = excluded.attempt, failed_at = excluded.failed_at,
      error = excluded.error, payload = excluded.payload
  )
  select array_agg(e) filter (where is_failure(e.status) or is_followed(e.traits)) into followed
  from unnest(ended_) as e;
  if exists (select from signal) then
    delete from signal s
    using unnest(ended_) as e
    where s.node = e.node and s.job = e.job and s.run = e.run;
  end if;
  return case when followed is not null then after_end(followed) end;
end $$;

-- What follows the end of runs: of those that failed or have a trait for it, and of no others. Each kind of
-- consequence in turn, notices and then chains, and each in the order of job and run: whoever ends several runs
-- takes the locks for them in this one order. The rows of the runs themselves were locked before. A further
-- consequence is a further line.
create or replace function after_end(ended_ run_ended[]) returns bigint language plpgsql as $$
begin
  ended_ := array(select e from unnest(ended_) as e order by e.job, e.run);
  perform note_failures(ended_);
  return advance_chains(ended_);
end $$;

-- Whether a run that ended so leaves a dead letter, and a notice if its job asks for one.
create or replace function is_failure(status smallint) returns boolean language sql immutable parallel safe as $$
  select status in (2, 6)
$$;
