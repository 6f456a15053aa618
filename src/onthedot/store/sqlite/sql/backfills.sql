-- name: backfills.insert
insert into backfill (job, priority, concurrency, newest_first, total, created_at, ended_at)
values (:job, :priority, :concurrency, :newest_first, 0, :now, null)

-- name: backfills.insert_item
insert into backfill_item (job, due, backfill)
values (?, ?, ?)
on conflict (job, due) do nothing

-- name: backfills.open
select id, job, priority, concurrency, newest_first
from backfill
where ended_at is null
order by id
limit :limit

-- name: backfills.live
-- why: what it has made and is not over
select count(*)
from backfill_item i
where i.backfill = :id and i.run is not null
  and (exists (select 1 from run r where r.job = i.job and r.run = i.run)
    or exists (select 1 from waiting w where w.job = i.job and w.run = i.run))

-- name: backfills.oldest
select due
from backfill_item
where backfill = :id and run is null
order by due
limit :limit

-- name: backfills.newest
select due
from backfill_item
where backfill = :id and run is null
order by due desc
limit :limit

-- name: backfills.made
update backfill_item
set run = ?
where job = ? and due = ?

-- name: backfills.origin
select due
from backfill_item
where job = ? and run = ?

-- name: backfills.set_total
update backfill
set total = ?
where id = ?
