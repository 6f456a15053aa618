-- Runs that are no occurrences, in the given order, each in a microsecond of its own from from_ on, and
-- all with the same tie-breaker. It begins at a number of the transaction, so that callers at the same
-- time rarely try the same one; if one of the numbers is taken, all are tried with the next. Null if
-- there is no such job.
create or replace function enqueue_many(
  job_ bigint, dues_ bigint[], payloads_ text[], now_ bigint, from_ bigint
) returns bigint[] language plpgsql
set jit = off set enable_seqscan = off as $$
declare n integer := 1 + (pg_current_xact_id()::text::bigint % 1023)::integer; first bigint; last bigint; j record;
begin
  select version, lane, traits, priority into j from job where id = job_ for key share;
  if not found then return null; end if;
  for i in 1 .. 100000 loop
    first := (from_ << 10) | n;
    last := first + ((cardinality(dues_) - 1)::bigint << 10);
    if not exists (select from history where job = job_ and run between first and last and run & 1023 = n)
      and not exists (select from run where job = job_ and run between first and last and run & 1023 = n)
      and not exists (select from waiting where job = job_ and run between first and last and run & 1023 = n) then
      begin
        insert into run (job, run, version, lane, traits, priority, due, at, attempt, rescues, fence, payload)
        select job_, first + ((place - 1) << 10), j.version, j.lane, j.traits, j.priority, due, due, 1, 0, 0, payload
        from unnest(dues_, payloads_) with ordinality as asked(due, payload, place)
        where due <= now_;
        if now_ < any (dues_) then
          insert into waiting (job, run, version, lane, traits, priority, due, at, attempt, rescues, fence, payload)
          select job_, first + ((place - 1) << 10), j.version, j.lane, j.traits, j.priority, due, due, 1, 0, 0, payload
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
create or replace function enqueue(
  job_ bigint, due_ bigint, payload_ text, now_ bigint, from_ bigint
) returns bigint language sql as $$
  select (enqueue_many(job_, array[due_], array[payload_], now_, from_))[1]
$$;
