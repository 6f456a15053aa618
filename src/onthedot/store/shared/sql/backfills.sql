-- name: backfills.known
select due
from backfill_item
where job = :job and due > :after and due <= :until
order by due
limit :limit

-- name: backfills.of_job
select b.id, b.job, b.priority, b.concurrency, b.newest_first, b.total, b.created_at, b.ended_at,
  (select count(*) from backfill_item i where i.backfill = b.id and i.run is not null)
from backfill b
where b.job = :job and b.id < :before
order by b.id desc
limit :limit

-- name: backfills.forget_unmade
delete from backfill_item
where backfill = :id and run is null

-- name: backfills.end
update backfill
set ended_at = :now
where id = :id and ended_at is null

-- name: backfills.lock
select id
from backfill
where id = :id and job = :job
-- postgres: for update
