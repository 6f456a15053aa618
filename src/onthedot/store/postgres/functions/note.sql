-- What held runs have said. The share keeps whoever takes a run over waiting until this is committed:
-- then he finds the last checkpoint, and nothing comes after it. In order, as finish takes them.
create or replace function note(node_ bigint, notes_ run_note[]) returns bigint language plpgsql
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare held bigint;
begin
  perform require_alive(node_);
  with told as materialized (
    select n.*
    from unnest(notes_) n
    cross join lateral (
      select from run where run.job = n.job and run.run = n.run and run.owner = node_ and run.fence = n.fence for share
    ) r
  ), said as (
    insert into log (job, run, fence, attempt, number, at, lines)
    select job, run, fence, attempt, number, at, lines
    from told
    where lines is not null
    on conflict do nothing
  ), remembered as (
    insert into memo as m (job, run, attempt, at, progress, checkpoint)
    select job, run, attempt, at, progress, checkpoint
    from told
    where progress is not null or checkpoint is not null
    on conflict (job, run) do update
    set attempt = excluded.attempt, at = excluded.at,
      progress = coalesce(excluded.progress, case when m.attempt = excluded.attempt then m.progress end),
      checkpoint = coalesce(excluded.checkpoint, m.checkpoint)
  )
  select count(*) into held from told;
  return held;
end $$;
