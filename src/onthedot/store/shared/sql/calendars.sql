-- name: calendars.insert
-- why: on PostgreSQL it waits for a calendar of this name that is being made, and then finds it
insert into calendar (name, version, rules, created_at, updated_at)
values (:name, 1, :rules, :now, :now)
on conflict (namespace, name) do nothing

-- name: calendars.lock
-- why: no key update: who only edits it need not wait for jobs that are about to follow it
select version, rules
from calendar
where namespace = 'default' and name = :name
-- postgres: for no key update

-- name: calendars.lock_to_delete
select version
from calendar
where namespace = 'default' and name = :name
-- postgres: for update

-- name: calendars.keep
-- why: key share lets edits of the calendar pass, but not its end: a job must not follow what is gone
select version
from calendar
where namespace = 'default' and name = :name
-- postgres: for key share

-- name: calendars.update
update calendar
set version = :version, rules = :rules, updated_at = :now
where namespace = 'default' and name = :name

-- name: calendars.delete
delete from calendar
where namespace = 'default' and name = :name

-- name: calendars.get
select c.name, c.version, c.rules, c.created_at, c.updated_at,
  (select count(*) from calendar_use u where u.namespace = c.namespace and u.calendar = c.name),
  (select count(*) from calendar_use u where u.namespace = c.namespace and u.calendar = c.name and u.version < c.version)
from calendar c
where c.namespace = 'default' and c.name = :name

-- name: calendars.page
select c.name, c.version, c.rules, c.created_at, c.updated_at,
  (select count(*) from calendar_use u where u.namespace = c.namespace and u.calendar = c.name),
  (select count(*) from calendar_use u where u.namespace = c.namespace and u.calendar = c.name and u.version < c.version)
from calendar c
where c.namespace = 'default'
-- postgres: and c.name collate "C" > :after collate "C" order by c.name collate "C"
-- sqlite: and c.name > :after order by c.name
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
limit :limit

-- name: calendars.use
insert into calendar_use (job, calendar, version)
values (:job, :calendar, :version)
on conflict (job) do update
set calendar = excluded.calendar, version = excluded.version

-- name: calendars.leave
delete from calendar_use
where job = :job
