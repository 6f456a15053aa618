-- name: upkeep.installation
select id
from installation

-- name: upkeep.renew_installation
update installation
set id = ?

-- name: upkeep.raise_edge
update installation
set pruned_before = max(pruned_before, :before)

-- name: upkeep.new_installation
insert into installation (id)
values (?)

-- name: upkeep.new_shard
insert into shard (id, horizon)
values (?, 0)

-- name: upkeep.old_history
-- why: rows are appended in the order of finishing, so the oldest are found without another index;
-- looking some way beyond the limit passes over rows written while the clock ran ahead
delete from history
where id in (
  select id
  from (select id, finished from history order by id limit :limit + 10000)
  where finished < :before
  limit :limit
)

-- name: upkeep.old_versions
-- why: the version of an entry that still waits for its cut must stay readable
delete from job_version
where (job, version) in (
  select job, version
  from job_version v
  where ended_at < :before
    and not exists (select 1 from cut c where c.job = v.job and c.version = v.version)
  order by ended_at
  limit :limit
)

-- name: upkeep.old_keys
delete from idempotency
where (namespace, key) in (select namespace, key from idempotency where used_at < :before order by used_at limit :limit)

-- name: upkeep.old_nodes
delete from node
where id in (select id from node where dead_at < :before and settled = 1 order by id limit :limit)

-- name: upkeep.old_redrives
-- why: which run it does again is worth knowing as long as there is anything to know of the run
delete from redrive
where (job, run) in (
  select job, run
  from redrive x
  where run < :before << 10
    and not exists (select 1 from history h where h.job = x.job and h.run = x.run)
    and not exists (select 1 from run r where r.job = x.job and r.run = x.run)
    and not exists (select 1 from waiting w where w.job = x.job and w.run = x.run)
    and not exists (select 1 from dead d where d.job = x.job and d.run = x.run)
  limit :limit
)

-- name: upkeep.old_notices
delete from outbox
where (job, run) in (
  select job, run from outbox where given_up_at < :before order by given_up_at limit :limit
)

-- name: upkeep.old_logs
delete from log
where (job, run, fence, number) in (
  select job, run, fence, number from log where at < :before order by at limit :limit
)

-- name: upkeep.old_memos
-- why: what a run wants its next attempt to know stays as long as there may be one
delete from memo
where (job, run) in (
  select job, run
  from memo m
  where at < :before
    and not exists (select 1 from run r where r.job = m.job and r.run = m.run)
    and not exists (select 1 from waiting w where w.job = m.job and w.run = m.run)
  order by at
  limit :limit
)

-- name: upkeep.finished_one_offs
-- why: a one-off job has no entry; when nothing of it is left it goes with its history
select j.id
from job j
where j.rule is null and j.skipping_from is null and j.updated_at < :before
  and json_extract(j.definition, '$.schedule.at') < :before
  and not exists (select 1 from run r where r.job = j.id)
  and not exists (select 1 from waiting w where w.job = j.id)
  and not exists (select 1 from history h where h.job = j.id)
  and not exists (select 1 from dead d where d.job = j.id)
order by j.id
limit :limit

-- name: upkeep.old_backfills
delete from backfill
where id in (select id from backfill where ended_at < :before order by id limit :limit)

-- name: upkeep.old_items
-- why: that an instant was backfilled must be known as long as the ledger shows that it was not run
delete from backfill_item
where (job, due) in (
  select i.job, i.due
  from backfill_item i
  where i.due < :before and not exists (select 1 from backfill b where b.id = i.backfill)
  limit :limit
)

-- name: upkeep.epoch
select max(epoch, (select coalesce(max(seq), 0) >> 32 from sqlite_sequence where name = 'job'))
from installation

-- name: upkeep.begin_epoch
update installation
set epoch = :epoch

-- name: upkeep.forget_number
delete from sqlite_sequence
where name = :table

-- name: upkeep.number_from
-- why: the next number is the one after this
insert into sqlite_sequence (name, seq)
values (:table, :number)

-- name: upkeep.went_back
insert into went_back (epoch, noticed_at, since, until, reason)
select :epoch, :now, coalesce(max(beat_at), 0), max(:now, coalesce(max(beat_at), 0)), :reason
from node

-- name: upkeep.declare_all_dead
update node
set dead_at = :now
where dead_at is null

-- name: upkeep.gaps
select epoch, noticed_at, since, until, reason
from went_back
order by epoch
