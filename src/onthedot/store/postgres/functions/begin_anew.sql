-- Everything of ours is emptied: for benches and tests, on what they have made. The days of history are
-- made again when they are needed.
create or replace function begin_anew() returns void language plpgsql as $$
declare tables text;
begin
  select string_agg(format('%I', relname), ', ') into tables
  from pg_class
  where relkind in ('r', 'p') and not relispartition
    and relnamespace = to_regnamespace(quote_ident(current_schema()))
    and relname not in ('onthedot_schema', 'onthedot_functions', 'installation', 'shard');
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
