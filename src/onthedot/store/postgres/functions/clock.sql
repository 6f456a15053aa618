-- Far slots before `upto` become near ones. Under the shard's lock: whoever adds an entry reads
-- split_until under the same lock, so no entry is put into a far slot that has been split.
create or replace function split(shards_ smallint[], upto bigint, far_us bigint, near_us bigint)
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
create or replace function put_entries(entries_ clock_entry[], far_us bigint, near_us bigint)
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
