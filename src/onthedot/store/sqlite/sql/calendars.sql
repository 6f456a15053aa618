-- name: calendars.insert
insert into calendar (name, version, rules, created_at, updated_at)
values (:name, 1, :rules, :now, :now)
on conflict (namespace, name) do nothing

-- name: calendars.lock
select version, rules
from calendar
where namespace = 'default' and name = ?

-- name: calendars.keep
select version
from calendar
where namespace = 'default' and name = ?

-- name: calendars.update
update calendar
set version = :version, rules = :rules, updated_at = :now
where namespace = 'default' and name = :name

-- name: calendars.delete
delete from calendar
where namespace = 'default' and name = ?

-- name: calendars.get
select c.name, c.version, c.rules, c.created_at, c.updated_at,
  (select count(*) from calendar_use u where u.namespace = c.namespace and u.calendar = c.name),
  (select count(*) from calendar_use u where u.namespace = c.namespace and u.calendar = c.name and u.version < c.version)
from calendar c
where c.namespace = 'default' and c.name = ?

-- name: calendars.page
select c.name, c.version, c.rules, c.created_at, c.updated_at,
  (select count(*) from calendar_use u where u.namespace = c.namespace and u.calendar = c.name),
  (select count(*) from calendar_use u where u.namespace = c.namespace and u.calendar = c.name and u.version < c.version)
from calendar c
where c.namespace = 'default' and c.name > :after
order by c.name
limit :limit

-- name: calendars.followers
select j.id, j.version, j.definition, j.payload, j.anchor, j.since, j.skipping_from, j.created_at, j.updated_at,
  (select run >> 10 from chain where chain.job = j.id)
from calendar_use u
join job j on j.id = u.job
where u.namespace = 'default' and u.calendar = :name
order by j.id
limit :limit

-- name: calendars.behind
select u.job, c.name, c.version, c.rules
from calendar c
join calendar_use u on u.namespace = c.namespace and u.calendar = c.name and u.version < c.version
order by u.job
limit ?

-- name: calendars.use
insert into calendar_use (job, calendar, version)
values (?, ?, ?)
on conflict (job) do update
set calendar = excluded.calendar, version = excluded.version

-- name: calendars.leave
delete from calendar_use
where job = ?
