-- Runs have ended, for good. Of those that are links of chains, the next ones are made; returns when the
-- first of these is due. The caller has ended the link's row, so he has the lock that comes before the
-- chain's. Whoever waits here for an edit finds the chain as that has left it, or no longer at this link.
create or replace function advance_chains(ended_ run_ended[]) returns bigint language plpgsql
set jit = off set enable_seqscan = off as $$
declare c chain; e run_ended; due_ bigint; soonest bigint;
begin
  foreach e in array ended_ loop
    continue when not is_chained(e.traits);
    select * into c from chain where job = e.job and run = e.run for update;
    continue when not found;
    due_ := greatest(e.finished, c.run >> 10) + c.delay;
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
      insert into waiting (job, run, version, lane, traits, priority, due, at, attempt, rescues, fence, expires)
      values (c.job, due_ << 10, c.version, c.lane, c.traits, c.priority, due_, due_, 1, 0, 0, due_ + c.late);
      soonest := least(soonest, due_);
    end if;
  end loop;
  return soonest;
end $$;

-- Where the chain of a job stands, locked for an edit, and where its link is: waiting and unclaimed, or
-- live. The link is locked before the chain, as by those who end it.
create or replace function lock_chain(job_ bigint) returns table (
  job bigint, run bigint, version integer, lane text, traits smallint, priority smallint, delay bigint, late bigint,
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
