-- A run for an instant of the past. Null if its job was deleted.
create or replace function backfill_run(job_ bigint, due_ bigint, priority_ smallint, now_ bigint, from_ bigint)
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
