-- The verbs that need several statements in one round trip. A later statement of a function has a
-- newer snapshot than the lock that an earlier one waited for: that is what makes them right under
-- READ COMMITTED. Settings are pinned per function, since session settings are lost behind a pooler,
-- and since a plan that was made while a table was empty must not survive its growth.
-- `job = any(array[x.job]) and run between x.run and x.run` where arrays meet a table: with a plain `=`
-- the planner may read the whole table in the order of its key and search the arrays for each row. It
-- does so whenever it was last told that the table is empty, as queues often are, and then a thousand ends
-- take ten seconds. Up to PostgreSQL 17, `between` for the first column too would read all runs of the
-- job to find one, and `= any` for the second one may become a filter over them (tests/races/test_one_job.py).
-- SQLSTATE: OT001 a job changed, OT002 taken by another scheduler, OT003 the node is dead.

-- Every write of a node goes through this: the key share makes a burial wait for our commit, and a
-- node that is buried already is refused.
create function require_alive(node_ bigint) returns void language plpgsql as $$
begin
  perform from node where id = node_ and dead_at is null for key share;
  if not found then
    raise exception 'node % is dead', node_ using errcode = 'OT003';
  end if;
end $$;

-- For a verb that finds nothing to write. The lock is a write, too: it would wait for the disk.
create function refuse_dead(node_ bigint) returns void language plpgsql as $$
begin
  if not exists (select from node where id = node_ and dead_at is null) then
    raise exception 'node % is dead', node_ using errcode = 'OT003';
  end if;
end $$;

-- Far slots before `upto` become near ones. Under the shard's lock: whoever adds an entry reads
-- split_until under the same lock, so no entry is put into a far slot that has been split.
create function split(shards_ smallint[], upto bigint, far_us bigint, near_us bigint)
returns void language plpgsql set jit = off set enable_seqscan = off as $$
declare s smallint;
begin
  for s in select id from shard where id = any(shards_) and split_until < upto order by id for update loop
    with taken as (
      delete from far where shard = s and slot < upto / far_us returning jobs, versions, dues, rules
    ), entries as (
      select j, v, d, r, (d - 1) / near_us as slot,
        row_number() over (partition by (d - 1) / near_us order by d) / 1000 as chunk
      from taken, unnest(jobs, versions, dues, rules) as x(j, v, d, r)
    )
    insert into near (shard, slot, jobs, versions, dues, rules)
    select s, slot, array_agg(j), array_agg(v), array_agg(d), array_agg(r)
    from entries
    group by slot, chunk;
    update shard set split_until = greatest(split_until, upto) where id = s;
  end loop;
end $$;

-- Entries into the slots where they belong; the caller holds the shards' locks.
create function put_entries(entries_ clock_entry[], far_us bigint, near_us bigint)
returns void language plpgsql set jit = off set enable_seqscan = off as $$
begin
  with entries as (
    select x.shard as s, x.due as d, x.job as j, x.version as v, x.rule as r, x.due >= split_until as is_far
    from unnest(entries_) as x
    join shard on shard.id = x.shard
  ), into_far as (
    insert into far (shard, slot, jobs, versions, dues, rules)
    select s, d / far_us, array_agg(j), array_agg(v), array_agg(d), array_agg(r)
    from entries where is_far group by s, d / far_us
  )
  insert into near (shard, slot, jobs, versions, dues, rules)
  select s, (d - 1) / near_us, array_agg(j), array_agg(v), array_agg(d), array_agg(r)
  from entries where not is_far group by s, (d - 1) / near_us;
end $$;

-- One claim. rows_: the packed rows whose entries the plan fires, or puts back because they are not due
-- yet; known_cuts: how many cuts the plan knew of among them, those of a deleted job counted twice, since
-- a delete changes the cuts that are there. For each entry of those rows, in order: nexts_, the instant
-- at which it goes back into the clock (0: it does not), and kinds_, the run that it makes at its own
-- instant: its lane and priority by number, negative if it is anybody's (0: none). others_: runs that
-- cannot be said so, the first `own` of them leased to the node. Returns how many runs were made.
create function fire(
  node_ bigint, until_ bigint, shards_ smallint[], rows_ clock_row[], known_cuts integer,
  nexts_ bigint[], kinds_ smallint[], lanes_ text[], priorities_ smallint[],
  others_ new_run[], own integer, far_us bigint, near_us bigint
) returns integer language plpgsql
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare n integer; taken integer; made integer;
begin
  perform require_alive(node_);
  -- In order of number, so that two claims over several shards cannot wait for each other.
  perform from shard where id = any(shards_) order by id for update;
  update shard set horizon = until_ where id = any(shards_) and horizon < until_;
  if exists (select from cut) then
    select coalesce(sum(1 + cut.deleted::integer), 0) into n
    from unnest(rows_) as x
    join near on near.shard = any(array[x.shard]) and near.slot between x.slot and x.slot and near.id = x.id,
    unnest(near.jobs, near.versions) as e(job, version)
    join cut on cut.job = e.job and cut.version = e.version;
    if n <> known_cuts then
      raise exception 'a job was changed after its entry had been read' using errcode = 'OT001';
    end if;
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
    insert into run (job, run, version, lane, priority, due, at, attempt, rescues, fence, owner)
    select j, d << 10, v, lanes_[abs(kind)], priorities_[abs(kind)], d, d, 1, 0, (kind > 0)::integer,
      case when kind > 0 then node_ end
    from entries where kind <> 0
  )
  select (select count(*) from gone), count(*) filter (where kind <> 0) into taken, made from entries;
  -- It must raise: a delete that merely hits less would lose the entries that it did not hit.
  if taken <> cardinality(rows_) then
    raise exception 'another scheduler took some of these entries' using errcode = 'OT002';
  end if;
  if cardinality(others_) > 0 then
    -- An instant of one schedule may have been one of another schedule of the same job: whoever came
    -- first accounts for it.
    insert into run (job, run, version, lane, priority, due, at, attempt, rescues, fence, owner)
    select x.job, x.run, version, lane, priority, due, at, 1, 0, (place <= own)::integer,
      case when place <= own then node_ end
    from unnest(others_) with ordinality
      as x(job, run, version, lane, priority, due, at, payload, expires, place)
    where not exists (select from history h where h.job = x.job and h.run = x.run)
      and not exists (select from waiting w where w.job = x.job and w.run = x.run)
      -- The conflict alone does not see a run that is being ended: it waits for the end, then there is
      -- none. Only ended versions can meet a live run.
      and case when known_cuts > 0 then not exists (select from run l where l.job = x.job and l.run = x.run) else true end
    on conflict (job, run) do nothing;
    get diagnostics n = row_count;
    made := made + n;
  end if;
  return made;
end $$;

-- Of runs that have just failed, or are lost, a notice goes into the outbox if their job asks for it.
create function note_failures(runs_ run_ref[])
returns void language sql set jit = off set enable_seqscan = off as $$
  insert into outbox (job, run, url, job_name, job_key, status, due, attempt, failed_at, error, reason, tries, at)
  select h.job, h.run, j.definition::jsonb ->> 'on_failure_url', j.name, j.key, h.status, h.due, h.attempt,
    h.finished, h.error, h.reason, 0, h.finished
  from unnest(runs_) as x
  join history h on h.job = any(array[x.job]) and h.run between x.run and x.run and h.fence = x.fence
  join job j on j.id = h.job
  where h.status in (2, 6) and j.definition::jsonb ? 'on_failure_url'
  on conflict (job, run) do nothing
$$;

-- Whether a run of this lane may be the link of a chain, that is: its job has a fixed delay.
create function is_chained(lane text) returns boolean language sql immutable parallel safe as $$
  select split_part(lane, '|', 3) = '~'
$$;

-- Runs have ended, for good. Of those that are links of chains, the next ones are made; returns when the
-- first of these is due. The caller has ended the link's row, so he has the lock that comes before the
-- chain's. Whoever waits here for an edit finds the chain as that has left it, or no longer at this link.
create function advance_chain(ends_ run_end[]) returns bigint language plpgsql
set jit = off set enable_seqscan = off as $$
declare c chain; e run_end; due_ bigint; soonest bigint;
begin
  foreach e in array ends_ loop
    select * into c from chain where job = e.job and run = e.run for update;
    continue when not found;
    due_ := greatest(e.ended, c.run >> 10) + c.delay;
    -- Another schedule of the job may have had this instant: then it is a microsecond later.
    while exists (select from history where job = c.job and run = due_ << 10)
      or exists (select from run where job = c.job and run = due_ << 10)
      or exists (select from waiting where job = c.job and run = due_ << 10)
    loop
      due_ := due_ + 1;
    end loop;
    if c.turns = 0 or due_ > least(c.ends, 7258118399999999) then
      due_ := null;
    end if;
    update chain set run = due_ << 10, turns = c.turns - (c.turns > 0)::integer where job = c.job;
    if due_ is not null and not c.parked then
      insert into waiting (job, run, version, lane, priority, due, at, attempt, rescues, fence, expires)
      values (c.job, due_ << 10, c.version, c.lane, c.priority, due_, due_, 1, 0, 0, due_ + c.late);
      soonest := least(soonest, due_);
    end if;
  end loop;
  return soonest;
end $$;

-- Where the chain of a job stands, locked for an edit, and where its link is: waiting and unclaimed, or
-- live. The link is locked before the chain, as by those who end it.
create function lock_chain(job_ bigint) returns table (
  job bigint, run bigint, version integer, lane text, priority smallint, delay bigint, late bigint,
  ends bigint, turns integer, parked boolean, waiting boolean, live boolean
) language plpgsql as $$
#variable_conflict use_column
declare c chain; number bigint;
begin
  for i in 1 .. 100 loop
    select run into number from chain where job = job_;
    perform from waiting where job = job_ and run = number for update;
    perform from run where job = job_ and run = number for update;
    select * into c from chain where job = job_ for update;
    exit when c.run is not distinct from number;
  end loop;
  return query
  select c.*,
    exists (select from waiting w where w.job = job_ and w.run = c.run and w.attempt = 1),
    exists (select from run r where r.job = job_ and r.run = c.run)
      or exists (select from waiting w where w.job = job_ and w.run = c.run and w.attempt > 1)
  where c.job is not null;
end $$;

-- Runs that succeeded and left nothing more to be told: nearly all. One statement does it, since no
-- cancel request could change what became of them: a row that was just marked as started is looked at again when
-- its lock is free, and deleted as it is then.
create function succeed(
  node_ bigint, jobs_ bigint[], runs_ bigint[], attempts_ integer[], fences_ integer[],
  started_ bigint[], finished_ bigint[]
) returns table (accepted bigint, repeated bigint, stale bigint, retry_at bigint) language plpgsql
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare links run_end[];
begin
  perform require_alive(node_);
  with gone as (
    delete from run
    using unnest(jobs_, runs_, attempts_, fences_, started_, finished_)
      as g(job, run, attempt, fence, started, finished)
    where run.job = any(array[g.job]) and run.run between g.run and g.run and run.owner = node_
      and run.fence = g.fence and run.attempt = g.attempt
    returning g.*, run.version, run.due, run.rescues, run.lane
  ), past as (
    insert into history (job, run, attempt, fence, version, status, due, started, finished, node, rescues)
    select job, run, attempt, fence, version, 1, due, started, finished, node_, rescues
    from gone
  )
  select count(*), array_agg((job, run, finished)::run_end) filter (where is_chained(lane))
  into accepted, links
  from gone;
  if links is not null then
    retry_at := advance_chain(links);
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

-- Outcomes of many runs. Drives from the arrays with one index lookup each, takes the row lock there,
-- and deletes by ctid. In two statements: whoever wrote to a row before we had its lock has committed
-- by the time the second one begins. In one, a row that was just marked as started would be recorded
-- and yet stay (its new version is not in the snapshot), and a cancel just accepted would be overlooked.
create function finish(node_ bigint, outcomes_ outcome[])
returns table (accepted bigint, repeated bigint, stale bigint, retry_at bigint) language plpgsql
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare cancel_requests boolean; tids tid[]; failures run_ref[]; links run_end[];
begin
  perform require_alive(node_);
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
  select exists (select from signal where node = node_) into cancel_requests;
  with held as materialized (
    select g.*, run.version, run.lane, run.priority, run.due, run.rescues, run.payload,
      case when cancel_requests then (select s.reason from signal s where s.node = node_ and s.job = g.job and s.run = g.run) end as cancel_request
    from rows from (unnest(tids), unnest(outcomes_))
      as g(tid, job, run, attempt, fence, status, started, finished, error, output, reason, retry)
    join run on run.ctid = g.tid
  ), settled as materialized (
    select h.*, case when h.retry is not null and h.cancel_request is null then h.retry end as again
    from held h
  ), gone as (
    delete from run where ctid = any(array(select tid from settled))
  ), signals_deleted as (
    delete from signal s using settled t where t.cancel_request is not null and s.node = node_ and s.job = t.job and s.run = t.run
  ), past as (
    insert into history (job, run, attempt, fence, version, status, due, started, finished, node, rescues, error, output, reason)
    select job, run, attempt, fence, version,
      case
        when again is not null then 7 when retry is not null then 3
        when status = 'succeeded' then 1 when status = 'failed' then 2 when status = 'cancelled' then 3
        when status = 'lost' then 6
      end,
      due, started, finished, node_, rescues, error, output,
      case when retry is not null and again is null then cancel_request else reason end
    from settled
  ), once_more as (
    insert into waiting (job, run, version, lane, priority, due, at, attempt, rescues, fence, payload)
    select job, run, version, lane, priority, due, again, attempt + 1, rescues, fence + 1, payload
    from settled
    where again is not null
  ), buried as (
    insert into dead (job, run, version, attempt, due, failed_at, error, payload)
    select job, run, version, attempt, due, finished, error, payload
    from settled
    where status in ('failed', 'lost') and retry is null
    on conflict (job, run) do update set attempt = excluded.attempt, failed_at = excluded.failed_at,
      error = excluded.error, payload = excluded.payload
  )
  select count(*), min(again),
    array_agg((job, run, fence)::run_ref) filter (where status in ('failed', 'lost') and retry is null),
    array_agg((job, run, finished)::run_end) filter (where again is null and is_chained(lane))
  into accepted, retry_at, failures, links
  from settled;
  if failures is not null then
    perform note_failures(failures);
  end if;
  if links is not null then
    retry_at := least(retry_at, advance_chain(links));
  end if;
  repeated := 0;
  if accepted < cardinality(outcomes_) then
    -- Those that were accepted are in history by now, too.
    select count(*) - accepted into repeated
    from unnest(outcomes_) as x
    join history h on h.job = any(array[x.job]) and h.run between x.run and x.run
      and h.attempt = x.attempt and h.fence = x.fence;
  end if;
  stale := cardinality(outcomes_) - accepted - repeated;
  return next;
end $$;

-- Whether a worker that subscribes to these queues (none given: to all) and has these Python functions
-- takes a lane: a queue, and for a run that calls a function its name after a bar. What is started at
-- most once ends with a bar and an exclamation mark.
create function is_taken_by(lane text, queues_ text[], functions_ text[]) returns boolean
language sql immutable parallel safe as $$
  select (cardinality(queues_) = 0 or split_part(lane, '|', 1) = any(queues_))
    and (split_part(lane, '|', 2) = '' or split_part(lane, '|', 2) = any(functions_))
$$;

create function is_at_most_once(lane text) returns boolean language sql immutable parallel safe as $$
  select right(lane, 2) = '|!'
$$;

-- Links that nobody has claimed in time are missed, and their chains go on. Apart from the others that
-- are missed, since hardly any is a link.
create function miss_links(shard_ smallint, limit_ integer, now_ bigint) returns void language plpgsql as $$
declare links run_end[];
begin
  with late as (
    select job, run, fence, version, due, rescues
    from waiting
    where (job % 16)::smallint = shard_ and expires < now_ and attempt = 1 and is_chained(lane)
    order by at
    limit limit_
    for update skip locked
  ), gone as (
    delete from waiting w using late l where w.job = l.job and w.run = l.run
  ), past as (
    insert into history (job, run, attempt, fence, version, status, due, finished, rescues, reason)
    select job, run, 0, fence, version, 5, due, now_, rescues, 'nobody claimed it within its window, catchUp is none'
    from late
  )
  select array_agg((job, run, now_)::run_end) into links from late;
  if links is not null then
    perform advance_chain(links);
  end if;
end $$;

-- Waiting runs that come up: to the live ones, the first `own` of them leased; expired ones are missed.
create function promote(
  shards_ smallint[], until_ bigint, node_ bigint, own integer, limit_ integer, now_ bigint,
  queues_ text[], functions_ text[]
)
returns table (
  job bigint, run bigint, version integer, lane text, priority smallint, due bigint, at bigint,
  attempt integer, rescues integer, fence integer, payload text, is_mine boolean
) language plpgsql as $$
#variable_conflict use_column
declare s smallint; latest bigint; has_late boolean;
begin
  perform require_alive(node_);
  -- An edit must know that the instant of a one-off is claimed, as it does of those in the clock.
  -- The shard is locked before the rows: an edit does it in this order too.
  for s, latest, has_late in
    select (w.job % 16)::smallint, max(w.at), bool_or(w.expires < now_ and is_chained(w.lane)) from waiting w
    where w.at <= until_ and w.attempt = 1 and w.run % 1024 = 0 and (w.job % 16)::smallint = any(shards_)
    group by 1 order by 1
  loop
    update shard set horizon = greatest(horizon, latest) where id = s;
    if has_late then
      perform miss_links(s, limit_, now_);
    end if;
  end loop;
  return query
  with coming as materialized (
    select w.ctid as tid, w.*
    from waiting w
    where w.at <= until_ and (w.job % 16)::smallint = any(shards_)
    order by w.at, w.job, w.run
    limit limit_
    for update skip locked
  ), gone as (
    delete from waiting where ctid = any(array(select tid from coming))
  ), late as (
    insert into history (job, run, attempt, fence, version, status, due, finished, rescues, reason)
    select job, run, 0, fence, version, 5, due, now_, rescues, 'nobody claimed it within its window, catchUp is none'
    from coming
    where attempt = 1 and expires < now_
  ), ready as materialized (
    select c.*, coalesce(j.version, c.version) as current, coalesce(j.lane, c.lane) as current_lane,
      w.wanted and row_number() over (partition by w.wanted order by c.at, c.job, c.run) <= own as mine
    from coming c
    left join job j on j.id = c.job
    cross join lateral (
      -- A lease of what is started at most once counts as its start: not before its instant.
      select is_taken_by(coalesce(j.lane, c.lane), queues_, functions_)
        and not is_at_most_once(coalesce(j.lane, c.lane)) as wanted
    ) w
    where not (c.attempt = 1 and coalesce(c.expires < now_, false))
      and not (c.attempt = 1 and c.run % 1024 = 0 and (
        exists (select from run r where r.job = c.job and r.run = c.run)
        or exists (select from history h where h.job = c.job and h.run = c.run)))
  ), live as (
    insert into run (job, run, version, lane, priority, due, at, attempt, rescues, fence, payload, owner)
    select job, run, current, current_lane, priority, due, at, attempt, rescues, fence + mine::integer, payload,
      case when mine then node_ end
    from ready
  )
  select r.job, r.run, r.current, r.current_lane, r.priority, r.due, r.at, r.attempt, r.rescues,
    r.fence + r.mine::integer, r.payload, r.mine
  from ready r
  union all
  select c.job, c.run, c.version, c.lane, c.priority, c.due, c.at, c.attempt, c.rescues, c.fence, c.payload, null
  from coming c
  where not exists (select from ready r where r.job = c.job and r.run = c.run)
  order by 7, 1, 2;
end $$;

-- Unowned due runs, highest rank first. How many of each lane are among the first `limit_` is looked up
-- without locks; so many are then locked lane by lane, in the order of the index. What another node has
-- locked is passed over, and those behind it are taken instead. Locking by position what was found before
-- would check each row that another node took meanwhile against all positions: two nodes at one backlog
-- then computed for more than ten seconds, and held up whoever wanted to end those runs.
create function lease(node_ bigint, queues_ text[], functions_ text[], limit_ integer, now_ bigint)
returns table (
  job bigint, run bigint, version integer, lane text, priority smallint, due bigint, at bigint,
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
      version = coalesce((select j.version from job j where j.id = r.job), r.version),
      lane = coalesce((select j.lane from job j where j.id = r.job), r.lane)
    from locked l
    where r.ctid = l.tid
    returning r.job, r.run, r.version, r.lane, r.priority, r.due, r.at, r.attempt, r.rescues, r.fence, r.payload, l.rank
  )
  select t.job, t.run, t.version, t.lane, t.priority, t.due, t.at, t.attempt, t.rescues, t.fence, t.payload
  from taken t
  order by t.rank, t.job, t.run;
end $$;

-- What a deleted job leaves behind: runs that nobody holds end with it, the holders of the others are
-- told. Every row is locked first, since in between a run may be leased, given back or retried; one
-- that moves from one table to the other while we wait for it is met in the next round.
create function end_runs(job_ bigint, now_ bigint) returns void language plpgsql as $$
declare locked_waiting bigint; locked_live bigint; there bigint;
begin
  for i in 1 .. 100 loop
    select count(*) into locked_waiting from (select from waiting where job = job_ for update) w;
    select count(*) into locked_live from (select from run where job = job_ for update) r;
    select (select count(*) from waiting where job = job_) + (select count(*) from run where job = job_) into there;
    exit when locked_waiting + locked_live = there;
  end loop;
  insert into signal (node, job, run, reason)
  select owner, job, run, 'job deleted'
  from run
  where job = job_ and owner is not null
  on conflict do nothing;
  with waiting_ones as (
    delete from waiting where job = job_ returning job, run, attempt, fence, version, due, rescues
  ), live_ones as (
    delete from run where job = job_ and owner is null returning job, run, attempt, fence, version, due, rescues
  )
  insert into history (job, run, attempt, fence, version, status, due, finished, rescues, reason)
  select job, run, attempt, fence, version, 3, due, now_, rescues, 'job deleted'
  from (select * from waiting_ones union all select * from live_ones) ended;
  -- After the rows, as everybody does: those who hold a link end it later, and find no chain.
  delete from chain where job = job_;
end $$;

-- Runs that their owner no longer holds (`rescued`: it died; else it gave them back): anybody may
-- lease them, unless somebody wants them to end. What a dead owner may have started, and is started
-- at most once, ends as lost, whatever else was wished. Returns how many did.
create function leave_owner(tids tid[], rescued boolean, now_ bigint) returns integer language plpgsql
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare lost integer := 0; refs run_ref[]; links run_end[];
begin
  if rescued then
    with unknown as (
      select r.ctid as tid, r.*,
        format('node %s died: whether it started this run, and how that ended, is unknown', r.owner) as words
      from run r
      where r.ctid = any(tids) and is_at_most_once(r.lane)
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
      array_agg((job, run, now_)::run_end) filter (where is_chained(lane))
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
  select array_agg((job, run, now_)::run_end) filter (where is_chained(lane)) into links from asked;
  if links is not null then
    perform advance_chain(links);
  end if;
  update run set owner = null, fence = fence + 1, started = null, rescues = rescues + rescued::integer
  where ctid = any(tids);
  return lost;
end $$;

create function release(node_ bigint, refs_ run_ref[], now_ bigint) returns integer language plpgsql
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

create function rescue(limit_ integer, now_ bigint) returns table (taken integer, lost integer)
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

-- Whether a run is anybody's. By the index alone: the table may be full of runs that are held.
create function has_free(until_ bigint) returns boolean language plpgsql stable
set jit = off set enable_seqscan = off as $$
begin
  return exists (select from run where owner is null and at <= until_);
end $$;

-- Runs that are no occurrences, in the given order, each in a microsecond of its own from from_ on, and
-- all with the same tie-breaker. It begins at a number of the transaction, so that callers at the same
-- time rarely try the same one; if one of the numbers is taken, all are tried with the next. Null if
-- there is no such job.
create function enqueue_many(
  job_ bigint, dues_ bigint[], payloads_ text[], now_ bigint, from_ bigint
) returns bigint[] language plpgsql
set jit = off set enable_seqscan = off as $$
declare n integer := 1 + (pg_current_xact_id()::text::bigint % 1023)::integer; first bigint; last bigint; j record;
begin
  select version, lane, priority into j from job where id = job_ for key share;
  if not found then return null; end if;
  for i in 1 .. 100000 loop
    first := (from_ << 10) | n;
    last := first + ((cardinality(dues_) - 1)::bigint << 10);
    if not exists (select from history where job = job_ and run between first and last and run & 1023 = n)
      and not exists (select from run where job = job_ and run between first and last and run & 1023 = n)
      and not exists (select from waiting where job = job_ and run between first and last and run & 1023 = n) then
      begin
        insert into run (job, run, version, lane, priority, due, at, attempt, rescues, fence, payload)
        select job_, first + ((place - 1) << 10), j.version, j.lane, j.priority, due, due, 1, 0, 0, payload
        from unnest(dues_, payloads_) with ordinality as asked(due, payload, place)
        where due <= now_;
        if now_ < any (dues_) then
          insert into waiting (job, run, version, lane, priority, due, at, attempt, rescues, fence, payload)
          select job_, first + ((place - 1) << 10), j.version, j.lane, j.priority, due, due, 1, 0, 0, payload
          from unnest(dues_, payloads_) with ordinality as asked(due, payload, place)
          where due > now_;
        end if;
        return array(select generate_series(first, last, 1024));
      exception when unique_violation then
        null;
      end;
    end if;
    n := n % 1023 + 1;
    if i % 1023 = 0 then from_ := from_ + cardinality(dues_); end if;
  end loop;
  raise exception 'no free number for job %', job_;
end $$;

-- One of them.
create function enqueue(
  job_ bigint, due_ bigint, payload_ text, now_ bigint, from_ bigint
) returns bigint language sql as $$
  select (enqueue_many(job_, array[due_], array[payload_], now_, from_))[1]
$$;

-- Letters of a job become runs that do theirs again; runs_ null: the oldest ones. The caller holds the
-- job's key share. A letter is locked before it goes: of two who want it, one finds it gone.
create function redrive_dead_letters(job_ bigint, runs_ bigint[], limit_ integer, now_ bigint)
returns table (old bigint, new bigint) language plpgsql as $$
declare letter record; made integer := 0;
begin
  for letter in
    select d.run, d.due, d.payload
    from dead d
    where d.job = job_ and (runs_ is null or d.run = any(runs_))
    order by d.run
    limit limit_
    for update
  loop
    delete from dead where job = job_ and run = letter.run;
    -- Each has a microsecond of its own: looking for free numbers in one would take ever longer.
    new := enqueue(job_, now_, letter.payload, now_, now_ + made);
    old := letter.run;
    update run set due = letter.due where job = job_ and run = new;
    insert into redrive (job, run, old) values (job_, new, letter.run);
    made := made + 1;
    return next;
  end loop;
end $$;

-- What held runs have said. The share keeps whoever takes a run over waiting until this is committed:
-- then he finds the last checkpoint, and nothing comes after it. In order, as finish takes them.
create function note(node_ bigint, notes_ run_note[]) returns bigint language plpgsql
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

-- Everything of ours is emptied: for benches and tests, on what they have made. The days of history are
-- made again when they are needed.
create function begin_anew() returns void language plpgsql as $$
declare tables text;
begin
  select string_agg(format('%I', relname), ', ') into tables
  from pg_class
  where relkind in ('r', 'p') and not relispartition
    and relnamespace = to_regnamespace(quote_ident(current_schema()))
    and relname not in ('onthedot_schema', 'installation', 'shard');
  execute 'truncate ' || tables || ' restart identity';
  for tables in
    select relname from pg_class
    where relkind = 'r' and relname like 'history_2%'
      and relnamespace = to_regnamespace(quote_ident(current_schema()))
  loop
    execute format('drop table %I', tables);
  end loop;
  update shard set horizon = 0, split_until = 0;
  update installation set pruned_before = 0, epoch = 0;
end $$;

-- A run for an instant of the past. Null if its job was deleted.
create function backfill_run(job_ bigint, due_ bigint, priority_ smallint, now_ bigint, from_ bigint)
returns bigint language plpgsql as $$
declare number bigint;
begin
  number := enqueue(job_, now_, null, now_, from_);
  if number is not null then
    update run set due = due_, priority = priority_ where job = job_ and run = number;
    update backfill_item set run = number where job = job_ and due = due_;
  end if;
  return number;
end $$;
