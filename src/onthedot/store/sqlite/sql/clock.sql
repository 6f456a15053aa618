-- name: clock.peek
-- why: the key order is (shard, due), so this reads the head of one shard and nothing else
select shard, due, job, version, rule
from clock
where shard = :shard and due <= :until
order by due, job, version
limit :limit

-- name: clock.is_waiting
select exists (select 1 from waiting where job % 16 = :shard and at <= :until)

-- name: clock.has_free
select exists (select 1 from run where owner is null and at <= ?)

-- name: clock.any_cut
select exists (select 1 from cut)

-- name: clock.cut_of
select job, version, cut, deleted
from cut
where job = ? and version = ?

-- name: clock.raise_horizon
update shard
set horizon = max(horizon, :until)
where id = :shard

-- name: clock.take
delete from clock
where shard = ? and due = ? and job = ? and version = ?

-- name: clock.move
-- why: many rows at once (many.py). `or fail`: the verb is rolled back as a whole anyway; a statement that
-- may be undone alone keeps a copy of every page that it touches
update or fail clock
set due = x.next
from (
  with x (shard, due, job, version, next) as (values (?, ?, ?, ?, ?))
  select shard, due, job, version, next
  from x
) as x
where clock.shard = x.shard and clock.due = x.due and clock.job = x.job and clock.version = x.version

-- name: clock.put
insert into clock (shard, due, job, version, rule)
values (?, ?, ?, ?, ?)

-- name: clock.close_cut
delete from cut
where job = ? and version = ?

-- name: clock.disarm
update job
set armed = 0
where id = ? and version = ?

-- name: clock.set_aside
insert or replace into aside (job, version, due, rule, why, set_aside_at)
values (?, ?, ?, ?, ?, ?)

-- name: clock.rule_spec
select id, spec
from rule
where id = ?

-- name: clock.intern_rule
insert into rule (spec)
values (?)
on conflict (spec) do nothing

-- name: clock.rule_id
select id
from rule
where spec = ?
