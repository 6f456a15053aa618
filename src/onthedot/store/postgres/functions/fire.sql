-- Refuses a claim of these rows if there are cuts among their entries that its plan did not know of.
create or replace function require_known_cuts(rows_ clock_row[], known_cuts integer) returns void language plpgsql
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare n integer;
begin
  select coalesce(sum(1 + cut.deleted::integer), 0) into n
  from unnest(rows_) as x
  join near on near.shard = any(array[x.shard]) and near.slot between x.slot and x.slot and near.id = x.id,
  unnest(near.jobs, near.versions) as e(job, version)
  join cut on cut.job = e.job and cut.version = e.version;
  if n <> known_cuts then
    raise exception 'a job was changed after its entry had been read' using errcode = 'OT001';
  end if;
end $$;

-- The runs of a claim that are not at the instant of their entry. versions_ended: the plan knew of cuts.
create or replace function fire_others(node_ bigint, others_ new_run[], own integer, versions_ended boolean)
returns integer language plpgsql
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare n integer;
begin
  -- An instant of one schedule may have been one of another schedule of the same job: whoever came
  -- first accounts for it.
  insert into run (job, run, version, lane, traits, priority, due, at, attempt, rescues, fence, owner)
  select x.job, x.run, version, lane, traits, priority, due, at, 1, 0, (place <= own)::integer,
    case when place <= own then node_ end
  from unnest(others_) with ordinality
    as x(job, run, version, lane, traits, priority, due, at, payload, expires, place)
  where not exists (select from history h where h.job = x.job and h.run = x.run)
    and not exists (select from waiting w where w.job = x.job and w.run = x.run)
    -- The conflict alone does not see a run that is being ended: it waits for the end, then there is
    -- none. Only ended versions can meet a live run.
    and case when versions_ended then not exists (select from run l where l.job = x.job and l.run = x.run) else true end
  on conflict (job, run) do nothing;
  get diagnostics n = row_count;
  return n;
end $$;

-- One claim. rows_: the packed rows whose entries the plan fires, or puts back because they are not due
-- yet; known_cuts: how many cuts the plan knew of among them, those of a deleted job counted twice, since
-- a delete changes the cuts that are there. For each entry of those rows, in order: nexts_, the instant
-- at which it goes back into the clock (0: it does not), and kinds_, the run that it makes at its own
-- instant: its lane, traits and priority by number, negative if it is anybody's (0: none). others_: runs that
-- cannot be said so, the first `own` of them leased to the node. Returns how many runs were made.
create or replace function fire(
  node_ bigint, until_ bigint, shards_ smallint[], rows_ clock_row[], known_cuts integer,
  nexts_ bigint[], kinds_ smallint[], lanes_ text[], traits_ smallint[], priorities_ smallint[],
  others_ new_run[], own integer, far_us bigint, near_us bigint
) returns integer language plpgsql
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare taken integer; made integer;
begin
  perform require_alive(node_);
  -- In order of number, so that two claims over several shards cannot wait for each other.
  perform from shard where id = any(shards_) order by id for update;
  update shard set horizon = until_ where id = any(shards_) and horizon < until_;
  if exists (select from cut) then
    perform require_known_cuts(rows_, known_cuts);
  end if;
  with gone as (
    delete from near
    using unnest(rows_) with ordinality as x(shard, slot, id, place)
    where near.shard = any(array[x.shard]) and near.slot between x.slot and x.slot and near.id = x.id
    returning near.shard, near.jobs, near.versions, near.dues, near.rules, x.place
  ), placed as (
    select g.*, sum(cardinality(jobs)) over (order by place)::integer as last, cardinality(jobs) as size
    from gone g
  ), entries as materialized (
    select p.shard as s, e.j, e.v, e.d, e.r, e.next, e.kind, e.next >= shard.split_until as is_far
    from placed p
    join shard on shard.id = p.shard
    cross join lateral unnest(
      p.jobs, p.versions, p.dues, p.rules, nexts_[p.last - p.size + 1 : p.last], kinds_[p.last - p.size + 1 : p.last]
    ) as e(j, v, d, r, next, kind)
  ), into_far as (
    insert into far (shard, slot, jobs, versions, dues, rules)
    select s, next / far_us, array_agg(j), array_agg(v), array_agg(next), array_agg(r)
    from entries where is_far group by s, next / far_us
  ), into_near as (
    insert into near (shard, slot, jobs, versions, dues, rules)
    select s, (next - 1) / near_us, array_agg(j), array_agg(v), array_agg(next), array_agg(r)
    from entries where not is_far and next > 0 group by s, (next - 1) / near_us
  ), into_run as (
    insert into run (job, run, version, lane, traits, priority, due, at, attempt, rescues, fence, owner)
    select j, d << 10, v, lanes_[abs(kind)], traits_[abs(kind)], priorities_[abs(kind)], d, d, 1, 0, (kind > 0)::integer,
      case when kind > 0 then node_ end
    from entries where kind <> 0
  )
  select (select count(*) from gone), count(*) filter (where kind <> 0) into taken, made from entries;
  -- It must raise: a delete that merely hits less would lose the entries that it did not hit.
  if taken <> cardinality(rows_) then
    raise exception 'another scheduler took some of these entries' using errcode = 'OT002';
  end if;
  if cardinality(others_) > 0 then
    made := made + fire_others(node_, others_, own, known_cuts > 0);
  end if;
  return made;
end $$;
