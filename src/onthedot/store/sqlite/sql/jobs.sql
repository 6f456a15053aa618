-- name: jobs.insert
insert into job (version, namespace, key, name, lane, traits, priority, rule, armed, definition, payload,
  anchor, since, skipping_from, created_at, updated_at)
values (1, :namespace, :key, :name, :lane, :traits, :priority, :rule, :armed, :definition, :payload,
  :anchor, :since, :skipping_from, :created_at, :updated_at)

-- name: jobs.next_number
-- why: the verb must know the number before it asks what to write; the writer is alone, so it holds
select coalesce((select seq from sqlite_sequence where name = 'job'), 0) + 1

-- name: jobs.update
update job
set version = :version, namespace = :namespace, key = :key, name = :name, lane = :lane, traits = :traits, priority = :priority, rule = :rule,
  armed = :armed, definition = :definition, payload = :payload, anchor = :anchor, since = :since,
  skipping_from = :skipping_from, updated_at = :updated_at
where id = :id

-- name: jobs.delete
delete from job
where id = ?

-- name: jobs.get
select id, version, definition, payload, anchor, since, skipping_from, created_at, updated_at,
  (select run >> 10 from chain where chain.job = job.id)
from job
where id = ?

-- name: jobs.page
select id, version, definition, payload, anchor, since, skipping_from, created_at, updated_at,
  (select run >> 10 from chain where chain.job = job.id)
from job
where id < :before
order by id desc
limit :limit

-- name: jobs.ahead
-- why: of a page of jobs only one-offs are asked about, all at once
select w.job, w.run
from json_each(?) x
join waiting w on w.job = json_extract(x.value, '$[0]') and w.run = json_extract(x.value, '$[1]')
where w.attempt = 1

-- name: jobs.armed
select armed
from job
where id = ?

-- name: jobs.current
select s.horizon,
  exists (select 1 from waiting where job = :job and run = :run and attempt = 1),
  exists (select 1 from run where job = :job and run = :run)
    or exists (select 1 from waiting where job = :job and run = :run and attempt > 1)
from shard s
where s.id = :shard

-- name: jobs.move_live
-- why: what nobody has leased yet takes the current version when it is, so it stands in its lane
update run
set lane = ?2, traits = ?3
where job = ?1 and owner is null

-- name: jobs.move_waiting
update waiting
set lane = ?2, traits = ?3
where job = ?1

-- name: jobs.keyed
select id, version, definition, payload, anchor, since, skipping_from, created_at, updated_at,
  (select run >> 10 from chain where chain.job = job.id)
from job
where namespace = ? and key = ?

-- name: jobs.by_key
select id
from job
where namespace = ? and key = ?

-- name: jobs.keep_version
insert into job_version (job, version, name, definition, payload, anchor, since, skipping_from, cut, ended_at, deleted)
select id, version, name, definition, payload, anchor, since, skipping_from, :cut, :now, :deleted
from job
where id = :job

-- name: jobs.end_version
insert into cut (job, version, cut, deleted)
values (?, ?, ?, ?)

-- name: jobs.current_definition
select definition, payload
from job
where id = ? and version = ?

-- name: jobs.old_definition
select definition, payload
from job_version
where job = ? and version = ?

-- name: jobs.kept_answer
select fingerprint, answer
from idempotency
where namespace = 'default' and key = ?

-- name: jobs.keep_answer
insert into idempotency (key, fingerprint, answer, used_at)
values (?, ?, ?, ?)

-- name: jobs.live_of
select job, run, version, attempt, rescues, fence, due, owner, started, payload, traits
from run
where job = ?

-- name: jobs.waiting_of
select job, run, version, attempt, rescues, fence, due, null, null, payload, traits
from waiting
where job = ?

-- name: jobs.forget_aside
delete from aside
where job = ? and version = ?
returning due, why

-- name: jobs.delete_cuts
-- why: what earlier versions left unfired is not wanted any more either
update cut
set deleted = 1
where job = ?

-- name: jobs.declare
insert into declared (job, app, gone_at)
values (:job, :app, null)
on conflict (job) do update
set app = excluded.app, gone_at = null
where app <> excluded.app or gone_at is not null

-- name: jobs.undeclare
update declared
set gone_at = :now
where namespace = 'default' and app = :app and gone_at is null
  and job not in (select value from json_each(:jobs))

-- name: jobs.forget_declared
-- why: deleted jobs leave their rows behind; only the next declaration would ever look at them
delete from declared
where namespace = 'default' and app = :app
  and not exists (select 1 from job where id = declared.job)

-- name: jobs.gone_of
select j.id, j.version, j.definition, j.payload, j.anchor, j.since, j.skipping_from, j.created_at, j.updated_at,
  (select run >> 10 from chain where chain.job = j.id)
from declared d
join job j on j.id = d.job
where d.namespace = 'default' and d.app = ? and d.gone_at is not null
order by j.id desc

-- name: jobs.undeclared
select j.id, j.version, j.definition, j.payload, j.anchor, j.since, j.skipping_from, j.created_at, j.updated_at,
  (select run >> 10 from chain where chain.job = j.id)
from declared d
join job j on j.id = d.job
where d.gone_at is not null
order by j.id desc
limit ?

-- name: jobs.gone
select app, gone_at
from declared
where job = ? and gone_at is not null
