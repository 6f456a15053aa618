-- Letters of a job become runs that do theirs again; runs_ null: the oldest ones. The caller holds the
-- job's key share. A letter is locked before it goes: of two who want it, one finds it gone.
create or replace function redrive_dead_letters(job_ bigint, runs_ bigint[], limit_ integer, now_ bigint)
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
