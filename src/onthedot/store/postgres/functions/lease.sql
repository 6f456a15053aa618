-- Unowned due runs, highest rank first. How many of each lane are among the first `limit_` is looked up
-- without locks; so many are then locked lane by lane, in the order of the index. What another node has
-- locked is passed over, and those behind it are taken instead. Locking by position what was found before
-- would check each row that another node took meanwhile against all positions: two nodes at one backlog
-- then computed for more than ten seconds, and held up whoever wanted to end those runs.
create or replace function lease(node_ bigint, queues_ text[], functions_ text[], limit_ integer, now_ bigint)
returns table (
  job bigint, run bigint, version integer, lane text, traits smallint, priority smallint, due bigint, at bigint,
  attempt integer, rescues integer, fence integer, payload text
) language plpgsql set jit = off set enable_seqscan = off set enable_sort = off as $$
#variable_conflict use_column
begin
  if not exists (select from run r where r.owner is null) then
    perform refuse_dead(node_);
    return;
  end if;
  perform require_alive(node_);
  return query
  with recursive found (name) as (
    select min(r.lane) from run r where r.owner is null
    union all
    select (select min(r.lane) from run r where r.owner is null and r.lane > f.name) from found f where f.name is not null
  ), wanted as (
    select name from found where name is not null and is_taken_by(name, queues_, functions_)
  ), candidates as (
    select w.name
    from wanted w
    cross join lateral (
      select r.job, r.run, r.at - r.priority * 60000000::bigint as rank
      from run r
      where r.owner is null and r.lane = w.name and r.at <= now_
      order by r.at - r.priority * 60000000::bigint
      limit limit_
    ) c
    order by c.rank, c.job, c.run
    limit limit_
  ), locked as materialized (
    select r.*
    from (select c.name, count(*) as size from candidates c group by c.name) share
    cross join lateral (
      select r.ctid as tid, r.at - r.priority * 60000000::bigint as rank
      from run r
      where r.owner is null and r.lane = share.name and r.at <= now_
      order by r.at - r.priority * 60000000::bigint
      limit share.size
      for update skip locked
    ) r
  ), taken as (
    update run r
    set owner = node_, fence = r.fence + 1, started = null,
      -- One look at the job for all three; it may be gone.
      (version, lane, traits) = (
        select coalesce(j.version, r.version), coalesce(j.lane, r.lane), coalesce(j.traits, r.traits)
        from (select) one
        left join job j on j.id = r.job
      )
    from locked l
    where r.ctid = l.tid
    returning r.job, r.run, r.version, r.lane, r.traits, r.priority, r.due, r.at, r.attempt, r.rescues, r.fence, r.payload, l.rank
  )
  select t.job, t.run, t.version, t.lane, t.traits, t.priority, t.due, t.at, t.attempt, t.rescues, t.fence, t.payload
  from taken t
  order by t.rank, t.job, t.run;
end $$;

-- Whether a run is anybody's. By the index alone: the table may be full of runs that are held.
create or replace function has_free(until_ bigint) returns boolean language plpgsql stable
set jit = off set enable_seqscan = off as $$
begin
  return exists (select from run where owner is null and at <= until_);
end $$;
