-- name: clock.peek
-- why: one row for all shards. For each row the reader would have to wait for the interpreter, which the
-- event loop has. The key order is (shard, due), so this reads the heads of these shards and nothing else
select '[' || group_concat(entries) || ']', max(is_waiting), exists (select 1 from cut)
from (
  select
    (
      select json_group_array(json_array(shard, due, job, version, rule))
      from (
        select shard, due, job, version, rule
        from clock
        where shard = s.id and due <= :until
        order by due, job, version
        limit :limit
      )
    ) as entries,
    exists (select 1 from waiting where job % 16 = s.id and at <= :until) as is_waiting
  from shard s
  where s.id in (select value from json_each(:shards))
)

-- name: clock.has_free
select exists (select 1 from run where owner is null and at <= ?)

-- name: clock.any_cut
select exists (select 1 from cut)

-- name: clock.horizon
select max(horizon)
from shard

-- name: clock.cut_of
select job, version, cut, deleted
from cut
where job = ? and version = ?

-- name: clock.raise_horizon
update shard
set horizon = max(horizon, :until)
where id in (select value from json_each(:shards))

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

-- name: clock.rule_specs
-- why: one row for all of them, as clock.peek
select json_group_array(json_array(id, spec))
from rule
where id in (select value from json_each(?))

-- name: clock.intern_rule
insert into rule (spec)
values (?)
on conflict (spec) do nothing

-- name: clock.rule_id
select id
from rule
where spec = ?
