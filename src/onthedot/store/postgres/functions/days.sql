-- The days of history: made ahead, so that a finish never waits for one, and dropped whole, so that
-- nothing is left to vacuum. Both take a lock that everybody who finishes a run needs too: they give
-- up after three seconds and are tried again by the next round.

-- Made apart and then attached. A day that has begun without its partition stays in the default one,
-- unless what lies there is little: moving much would hold up every finish.
create or replace function make_day(name_ text, first_ bigint, end_ bigint) returns boolean language plpgsql
set lock_timeout = '3s' as $$
declare n bigint;
begin
  if to_regclass(name_) is not null then
    return false;
  end if;
  -- Attaching takes this lock in any case; taken first, nothing comes in between the move and it.
  lock table history_default in access exclusive mode;
  if to_regclass(name_) is not null then
    return false;
  end if;
  select count(*) into n
  from (select from history_default where run >= first_ and run < end_ limit 10001) early;
  if n > 10000 then
    return false;
  end if;
  execute format('create table %I (like history including defaults)', name_);
  if n > 0 then
    execute format(
      'with early as (delete from history_default where run >= %s and run < %s returning *)'
      ' insert into %I select * from early', first_, end_, name_);
  end if;
  execute format('alter table history attach partition %I for values from (%s) to (%s)', name_, first_, end_);
  return true;
end $$;

-- A record may begin on that day and reach into the time that is kept, like that of a long pause, and
-- a run may have ended long after it was due: these few go to the default partition.
create or replace function drop_day(name_ text, before_ bigint) returns void language plpgsql
set lock_timeout = '3s' as $$
declare kept history[];
begin
  if to_regclass(name_) is null then
    return;
  end if;
  execute format('select array_agg(h::history) from %I h where h.finished >= $1', name_) into kept using before_;
  execute format('drop table %I', name_);
  insert into history select (k).* from unnest(kept) k;
end $$;
