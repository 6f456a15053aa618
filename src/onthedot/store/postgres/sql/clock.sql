-- name: clock.split
select split($1::smallint[], $2::bigint, $3::bigint, $4::bigint)

-- name: clock.peek
-- why: a lateral look-up per shard reads the head of each one's key and nothing else; from the cursor
-- on, since the entries of rows deleted before it still lie there until vacuum comes. The limit is
-- meant in entries: a row beyond it would be read for nothing, one more says that there is more
select n.shard, n.slot, n.id, n.jobs, n.versions, n.dues, n.rules, exists (select from cut) as has_cuts,
  exists (select from waiting w where w.at <= $5 and (w.job % 16)::smallint = any($1::smallint[])) as has_waiting,
  (select has_free($5) where $6) as has_free
from unnest($1::smallint[], $2::bigint[]) as s(shard, low)
left join lateral (
  select *
  from (
    select near.*, sum(cardinality(near.jobs)) over (order by near.slot, near.id) - cardinality(near.jobs) as before
    from near
    where near.shard = s.shard and near.slot >= s.low and near.slot <= $3
    order by near.slot, near.id
    limit $4
  ) head
  where head.before <= $4
) n on true

-- name: clock.cuts_of
select cut.job, cut.version, cut.cut, cut.deleted
from unnest($1::version_ref[]) as x
join cut on cut.job = x.job and cut.version = x.version

-- name: clock.fire
select fire(
  proven($1, $15::bigint[]), $2, $3, $4, $5, $6::text::bigint[], $7::text::smallint[], $8, $9, $10, $11, $12, $13, $14
)

-- name: clock.insert_waiting
insert into waiting (job, run, version, lane, traits, priority, due, at, attempt, rescues, fence)
select job, run, version, lane, traits, priority, due, at, 1, 0, 0
from unnest($1::new_run[]) as x
where not exists (select from history h where h.job = x.job and h.run = x.run)
  and not exists (select from run r where r.job = x.job and r.run = x.run)
  and not exists (select from waiting w where w.job = x.job and w.run = x.run)
on conflict (job, run) do nothing

-- name: clock.made
-- why: asked only when fewer runs were made than planned
select r.job, r.run
from unnest($1::new_run[]) as x
join run r on r.job = any(array[x.job]) and r.run between x.run and x.run
where r.owner = $2 and r.attempt = 1 and r.fence = 1

-- name: clock.record_ranges
insert into history (job, run, attempt, fence, version, status, due, finished, rescues, reason, until, count)
select job, first << 10, 0, 0, version, status, first, $1, 0, reason, last, count
from unnest($2::bigint[], $3::integer[], $4::smallint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[])
  as x(job, version, status, first, last, count, reason)
where x.count > 1 or not (
  exists (select from history h where h.job = x.job and h.run = x.first << 10)
  or exists (select from run r where r.job = x.job and r.run = x.first << 10)
  or exists (select from waiting w where w.job = x.job and w.run = x.first << 10))

-- name: clock.close_cuts
delete from cut
using unnest($1::version_ref[]) as x
where cut.job = x.job and cut.version = x.version

-- name: clock.disarm
update job
set armed = false
from unnest($1::version_ref[]) as x
where job.id = x.job and job.version = x.version

-- name: clock.set_aside
insert into aside (job, version, due, rule, why, set_aside_at)
values ($1, $2, $3, $4, $5, $6)
on conflict (job, version) do update set why = excluded.why, set_aside_at = excluded.set_aside_at

-- name: clock.horizon
select max(horizon)
from shard

-- name: clock.rules
select id, spec
from rule
where id = any($1::bigint[])

-- name: clock.intern_rules
-- why: looked up first, so that a known rule costs neither a row version nor a number
insert into rule (spec)
select spec
from unnest($1::text[]) as x(spec)
where not exists (select from rule where rule.spec = x.spec)
on conflict do nothing

-- name: clock.rule_ids
-- why: not `= any`: once its plan is kept, every rule would be held against each text of the array
select rule.spec, rule.id
from unnest($1::text[]) as x(spec)
join rule on rule.spec = x.spec

-- name: clock.put
select put_entries($1, $2, $3)
