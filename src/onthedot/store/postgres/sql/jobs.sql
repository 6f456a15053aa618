-- name: jobs.lock_shard
-- why: for share: edits of one shard do not wait for each other, only for a claim, which takes the
-- same row for update; what is read after it is as new as the last claim
select horizon
from shard
where id = $1
for share

-- name: jobs.lock
select id, version, definition, payload, anchor, since, skipping_from, created_at, updated_at,
  (select run >> 10 from chain where chain.job = job.id), armed
from job
where id = $1
for update

-- name: jobs.is_waiting
select exists (select from waiting where job = $1 and run = $2 and attempt = 1)

-- name: jobs.insert
insert into job (id, version, namespace, key, name, lane, traits, priority, rule, armed, definition, payload,
  anchor, since, skipping_from, created_at, updated_at)
overriding system value
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)

-- name: jobs.update
update job
set version = $2, namespace = $3, key = $4, name = $5, lane = $6, traits = $7, priority = $8,
  rule = $9, armed = $10, definition = $11, payload = $12, anchor = $13, since = $14, skipping_from = $15,
  created_at = $16, updated_at = $17
where id = $1

-- name: jobs.delete
delete from job
where id = any($1::bigint[])

-- name: jobs.get
select id, version, definition, payload, anchor, since, skipping_from, created_at, updated_at,
  (select run >> 10 from chain where chain.job = job.id)
from job
where id = $1

-- name: jobs.page
select id, version, definition, payload, anchor, since, skipping_from, created_at, updated_at,
  (select run >> 10 from chain where chain.job = job.id)
from job
where id < $1
order by id desc
limit $2

-- name: jobs.ahead
-- why: of a page of jobs only one-offs are asked about, all at once
select w.job, w.run
from unnest($1::bigint[], $2::bigint[]) as x(job, run)
join waiting w on w.job = x.job and w.run = x.run
where w.attempt = 1

-- name: jobs.move_live
-- why: what nobody has leased yet takes the current version when it is, so it stands in its lane
update run
set lane = $2, traits = $3
where job = $1 and owner is null

-- name: jobs.move_waiting
update waiting
set lane = $2, traits = $3
where job = $1

-- name: jobs.keyed
select id, version, definition, payload, anchor, since, skipping_from, created_at, updated_at,
  (select run >> 10 from chain where chain.job = job.id)
from job
where namespace = $1 and key = $2

-- name: jobs.by_key
select id
from job
where namespace = $1 and key = $2

-- name: jobs.keep_version
insert into job_version (job, version, name, definition, payload, anchor, since, skipping_from, cut, ended_at, deleted)
select id, version, name, definition, payload, anchor, since, skipping_from, $2, $3, $4
from job
where id = $1

-- name: jobs.end_version
insert into cut (job, version, cut, deleted)
values ($1, $2, $3, $4)

-- name: jobs.execution_specs
-- why: lateral and offset 0, so that it is one look-up by key each, whatever the planner thinks of
-- the size of the table
select x.job, x.version, j.definition, j.payload
from unnest($1::bigint[], $2::integer[]) as x(job, version)
cross join lateral (
  select definition, payload from job where id = x.job and version = x.version offset 0
) j

-- name: jobs.ended_handlings
select x.job, x.version, v.definition, v.payload
from unnest($1::bigint[], $2::integer[]) as x(job, version)
cross join lateral (
  select definition, payload from job_version where job = x.job and version = x.version offset 0
) v

-- name: jobs.keep_key
-- why: it waits for a request with the same key that is under way, and then finds its answer
insert into idempotency (key, fingerprint, answer, used_at)
values ($1, $2, '', $3)
on conflict (namespace, key) do nothing

-- name: jobs.keep_answer
update idempotency
set answer = $2
where namespace = 'default' and key = $1

-- name: jobs.kept_answer
select fingerprint, answer
from idempotency
where namespace = 'default' and key = $1

-- name: jobs.forget_aside
delete from aside
where job = $1 and version = $2
returning due, why

-- name: jobs.end_runs
select end_runs_of($1, $2)

-- name: jobs.delete_cuts
-- why: what earlier versions left unfired is not wanted any more either
update cut
set deleted = true
where job = $1

-- name: jobs.next_numbers
-- why: materialized, or the name would be looked up for every number
with s as materialized (select pg_get_serial_sequence('job', 'id')::regclass as seq)
select array_agg(nextval(s.seq)), server_started()
from s, generate_series(1, $1)

-- name: jobs.lock_shards
select
from shard
order by id
for share

-- name: jobs.declare
-- why: in the order of their numbers, so that two nodes that start at once wait for each other
insert into declared (job, app)
select job, $1
from unnest($2::bigint[]) job
order by job
on conflict (job) do update
set app = excluded.app, gone_at = null
where declared.app <> excluded.app or declared.gone_at is not null

-- name: jobs.undeclare
update declared
set gone_at = $3
where namespace = 'default' and app = $1 and gone_at is null and job <> all($2::bigint[])

-- name: jobs.forget_declared
-- why: deleted jobs leave their rows behind; only the next declaration would ever look at them
delete from declared
where namespace = 'default' and app = $1
  and not exists (select from job where id = declared.job)

-- name: jobs.gone_of
select j.id, j.version, j.definition, j.payload, j.anchor, j.since, j.skipping_from, j.created_at, j.updated_at,
  (select run >> 10 from chain where chain.job = j.id)
from declared d
join job j on j.id = d.job
where d.namespace = 'default' and d.app = $1 and d.gone_at is not null
order by j.id desc

-- name: jobs.undeclared
select j.id, j.version, j.definition, j.payload, j.anchor, j.since, j.skipping_from, j.created_at, j.updated_at,
  (select run >> 10 from chain where chain.job = j.id)
from declared d
join job j on j.id = d.job
where d.gone_at is not null
order by j.id desc
limit $1

-- name: jobs.gone
select app, gone_at
from declared
where job = $1 and gone_at is not null
