-- name: backfills.insert
insert into backfill (job, priority, concurrency, newest_first, total, created_at)
values ($1, $2, $3, $4, 0, $5)
returning id

-- name: backfills.insert_items
with added as (
  insert into backfill_item (job, due, backfill)
  select $1, due, $3
  from unnest($2::bigint[]) as x(due)
  on conflict (job, due) do nothing
  returning 1
)
select count(*)
from added

-- name: backfills.set_total
update backfill
set total = $2
where id = $1

-- name: backfills.open
-- why: skip locked: another node is at it
select id, job, priority, concurrency, newest_first
from backfill
where ended_at is null
order by id
limit $1
for update skip locked

-- name: backfills.live
-- why: what it has made and is not over
select count(*)
from backfill_item i
where i.backfill = $1 and i.run is not null
  and (exists (select from run r where r.job = i.job and r.run = i.run)
    or exists (select from waiting w where w.job = i.job and w.run = i.run))

-- name: backfills.oldest
select due
from backfill_item
where backfill = $1 and run is null
order by due
limit $2

-- name: backfills.newest
select due
from backfill_item
where backfill = $1 and run is null
order by due desc
limit $2

-- name: backfills.make
-- why: it may start at once, and must not be taken for a run that has waited since it was due
select backfill_run($1, $2, $3, $4, $5)

-- name: backfills.origins
select x.job, x.run, i.due
from unnest($1::bigint[], $2::bigint[]) as x(job, run)
join backfill_item i on i.job = x.job and i.run = x.run
