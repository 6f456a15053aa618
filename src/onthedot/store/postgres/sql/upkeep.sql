-- name: upkeep.installation
select id
from installation

-- name: upkeep.renew_installation
update installation
set id = $1

-- name: upkeep.raise_edge
update installation
set pruned_before = greatest(pruned_before, $1)

-- name: upkeep.new_installation
insert into installation (id)
values ($1)

-- name: upkeep.new_shards
insert into shard (id, horizon, split_until)
select n, 0, 0
from generate_series(0, $1 - 1) n

-- name: upkeep.partitions
select c.relname
from pg_inherits i
join pg_class c on c.oid = i.inhrelid
where i.inhparent = 'history'::regclass

-- name: upkeep.make_day
select make_day($1, $2, $3)

-- name: upkeep.drop_day
select drop_day($1, $2)

-- name: upkeep.old_history
delete from history
where (job, run, attempt) in (
  select job, run, attempt from history where finished < $1 and run < $3 limit $2
)

-- name: upkeep.old_versions
delete from job_version
where (job, version) in (
  select job, version
  from job_version v
  where ended_at < $1
    and not exists (select from cut c where c.job = v.job and c.version = v.version)
  order by ended_at
  limit $2
)

-- name: upkeep.old_keys
delete from idempotency
where (namespace, key) in (select namespace, key from idempotency where used_at < $1 order by used_at limit $2)

-- name: upkeep.old_nodes
delete from node
where id in (select id from node where dead_at < $1 and settled order by id limit $2)

-- name: upkeep.old_redrives
-- why: which run it does again is worth knowing as long as there is anything to know of the run
delete from redrive
where (job, run) in (
  select job, run
  from redrive x
  where run < $1::bigint << 10
    and not exists (select from history h where h.job = x.job and h.run = x.run)
    and not exists (select from run r where r.job = x.job and r.run = x.run)
    and not exists (select from waiting w where w.job = x.job and w.run = x.run)
    and not exists (select from dead d where d.job = x.job and d.run = x.run)
  limit $2
)

-- name: upkeep.old_notices
delete from outbox
where (job, run) in (
  select job, run from outbox where given_up_at < $1 order by given_up_at limit $2
)

-- name: upkeep.old_logs
delete from log
where (job, run, fence, number) in (
  select job, run, fence, number from log where at < $1 order by at limit $2
)

-- name: upkeep.old_memos
-- why: what a run wants its next attempt to know stays as long as there may be one
delete from memo
where (job, run) in (
  select job, run
  from memo m
  where at < $1
    and not exists (select from run r where r.job = m.job and r.run = m.run)
    and not exists (select from waiting w where w.job = m.job and w.run = m.run)
  order by at
  limit $2
)

-- name: upkeep.finished_one_offs
select forget_one_offs($1, $2)

-- name: upkeep.flush_costs
-- why: every connection sends its own counters, now and then; it waits a moment, so that asking all of
-- them at once does not come to the same one twice
select pg_stat_force_next_flush(), pg_sleep(0.05)

-- name: upkeep.costs
select
  (
    select coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint
    from pg_stat_user_tables
    where relname not like 'history%' and relname <> 'job'
  ),
  (pg_current_wal_lsn() - '0/0')::bigint,
  (select xact_commit + xact_rollback from pg_stat_database where datname = current_database()),
  case when coalesce(inet_client_addr() = inet_server_addr(), true) then pg_backend_pid() end

-- name: upkeep.old_backfills
delete from backfill
where id in (select id from backfill where ended_at < $1 order by id limit $2)

-- name: upkeep.old_items
-- why: that an instant was backfilled must be known as long as the ledger shows that it was not run
delete from backfill_item
where (job, due) in (
  select i.job, i.due
  from backfill_item i
  where i.due < $1 and not exists (select from backfill b where b.id = i.backfill)
  limit $2
)
