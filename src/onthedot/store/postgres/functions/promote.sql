-- Waiting runs that nobody has claimed in time are missed; returns how many.
create or replace function miss_late(shard_ smallint, limit_ integer, now_ bigint) returns integer language plpgsql as $$
declare ended run_ended[];
begin
  with late as materialized (
    select w.*
    from waiting w
    where (w.job % 16)::smallint = shard_ and w.at <= now_ and w.expires < now_ and w.attempt = 1
    order by w.at
    limit limit_
    for update skip locked
  ), gone as (
    delete from waiting w using late l where w.job = l.job and w.run = l.run
  )
  select array_agg((
    job, run, 0, fence, version, 5, due, null, now_, null, rescues, null, null,
    'nobody claimed it within its window, catchUp is none', payload, traits
  )::run_ended)
  into ended
  from late;
  if ended is null then
    return 0;
  end if;
  perform end_runs(ended);
  return cardinality(ended);
end $$;

-- The horizon of each shard goes up to the last of its waiting occurrences that come up; those that are too
-- late are missed. Returns how many.
create or replace function claim_waiting(shards_ smallint[], until_ bigint, limit_ integer, now_ bigint)
returns integer language plpgsql as $$
declare s smallint; latest bigint; has_late boolean; missed integer := 0;
begin
  -- An edit must know that the instant of a one-off is claimed, as it does of those in the clock.
  -- The shard is locked before the rows: an edit does it in this order too.
  for s, latest, has_late in
    select (w.job % 16)::smallint, max(w.at), bool_or(w.expires < now_) from waiting w
    where w.at <= until_ and w.attempt = 1 and w.run % 1024 = 0 and (w.job % 16)::smallint = any(shards_)
    group by 1 order by 1
  loop
    update shard set horizon = greatest(horizon, latest) where id = s;
    if has_late then
      missed := missed + miss_late(s, limit_, now_);
    end if;
  end loop;
  return missed;
end $$;

-- Waiting runs that come up: to the live ones, the first `own` of them leased; what is too late is missed.
create or replace function promote(
  shards_ smallint[], until_ bigint, node_ bigint, own integer, limit_ integer, now_ bigint,
  queues_ text[], functions_ text[]
)
returns table (
  job bigint, run bigint, version integer, lane text, traits smallint, priority smallint, due bigint, at bigint,
  attempt integer, rescues integer, fence integer, payload text, is_mine boolean
) language plpgsql as $$
#variable_conflict use_column
begin
  perform require_alive(node_);
  -- A row without values for each that is missed: it has left the waiting ones, too.
  for i in 1 .. claim_waiting(shards_, until_, limit_, now_) loop
    return next;
  end loop;
  return query
  with coming as materialized (
    select w.ctid as tid, w.*
    from waiting w
    where w.at <= until_ and (w.job % 16)::smallint = any(shards_)
      and not (w.attempt = 1 and coalesce(w.expires < now_, false))
    order by w.at, w.job, w.run
    limit limit_
    for update skip locked
  ), gone as (
    delete from waiting where ctid = any(array(select tid from coming))
  ), ready as materialized (
    select c.*, coalesce(j.version, c.version) as current, coalesce(j.lane, c.lane) as current_lane,
      coalesce(j.traits, c.traits) as current_traits,
      w.wanted and row_number() over (partition by w.wanted order by c.at, c.job, c.run) <= own as mine
    from coming c
    left join job j on j.id = c.job
    cross join lateral (
      -- A lease of what is started at most once counts as its start: not before its instant.
      select is_taken_by(coalesce(j.lane, c.lane), queues_, functions_)
        and not is_at_most_once(coalesce(j.traits, c.traits)) as wanted
    ) w
    where not (c.attempt = 1 and c.run % 1024 = 0 and (
        exists (select from run r where r.job = c.job and r.run = c.run)
        or exists (select from history h where h.job = c.job and h.run = c.run)))
  ), live as (
    insert into run (job, run, version, lane, traits, priority, due, at, attempt, rescues, fence, payload, owner)
    select job, run, current, current_lane, current_traits, priority, due, at, attempt, rescues, fence + mine::integer, payload,
      case when mine then node_ end
    from ready
  )
  select r.job, r.run, r.current, r.current_lane, r.current_traits, r.priority, r.due, r.at, r.attempt, r.rescues,
    r.fence + r.mine::integer, r.payload, r.mine
  from ready r
  union all
  select c.job, c.run, c.version, c.lane, c.traits, c.priority, c.due, c.at, c.attempt, c.rescues, c.fence, c.payload, null
  from coming c
  where not exists (select from ready r where r.job = c.job and r.run = c.run)
  order by 8, 1, 2;
end $$;
