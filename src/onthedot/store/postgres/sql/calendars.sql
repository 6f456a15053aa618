-- name: calendars.insert
-- why: it waits for a calendar of this name that is being made, and then finds it
insert into calendar (name, version, rules, created_at, updated_at)
values ($1, 1, $2, $3, $3)
on conflict (namespace, name) do nothing

-- name: calendars.lock
-- why: no key update: who only edits it need not wait for jobs that are about to follow it
select version, rules
from calendar
where namespace = 'default' and name = $1
for no key update

-- name: calendars.lock_to_delete
select version
from calendar
where namespace = 'default' and name = $1
for update

-- name: calendars.keep
-- why: key share lets edits of the calendar pass, but not its end: a job must not follow what is gone
select version
from calendar
where namespace = 'default' and name = $1
for key share

-- name: calendars.update
update calendar
set version = $2, rules = $3, updated_at = $4
where namespace = 'default' and name = $1

-- name: calendars.delete
delete from calendar
where namespace = 'default' and name = $1

-- name: calendars.get
select c.name, c.version, c.rules, c.created_at, c.updated_at,
  (select count(*) from calendar_use u where u.namespace = c.namespace and u.calendar = c.name),
  (select count(*) from calendar_use u where u.namespace = c.namespace and u.calendar = c.name and u.version < c.version)
from calendar c
where c.namespace = 'default' and c.name = $1

-- name: calendars.page
select c.name, c.version, c.rules, c.created_at, c.updated_at,
  (select count(*) from calendar_use u where u.namespace = c.namespace and u.calendar = c.name),
  (select count(*) from calendar_use u where u.namespace = c.namespace and u.calendar = c.name and u.version < c.version)
from calendar c
where c.namespace = 'default' and c.name collate "C" > $1 collate "C"
order by c.name collate "C"
limit $2

-- name: calendars.followers
select j.id, j.version, j.definition, j.payload, j.anchor, j.since, j.skipping_from, j.created_at, j.updated_at,
  (select run >> 10 from chain where chain.job = j.id)
from calendar_use u
join job j on j.id = u.job
where u.namespace = 'default' and u.calendar = $1
order by j.id
limit $2

-- name: calendars.behind
select u.job, c.name, c.version, c.rules
from calendar c
join calendar_use u on u.namespace = c.namespace and u.calendar = c.name and u.version < c.version
order by u.job
limit $1

-- name: calendars.use
insert into calendar_use (job, calendar, version)
values ($1, $2, $3)
on conflict (job) do update
set calendar = excluded.calendar, version = excluded.version

-- name: calendars.leave
delete from calendar_use
where job = $1
