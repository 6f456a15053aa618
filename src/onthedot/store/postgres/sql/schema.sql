-- name: schema.table
select to_regclass('onthedot_schema')

-- name: schema.version
select version
from onthedot_schema

-- name: schema.hurry
-- why: whoever waits for a lock on a table holds up all who come after; local to the transaction
select set_config('lock_timeout', '3s', true)

-- name: schema.lock
-- why: a lock of the transaction, since session locks leak behind a pooler
select pg_advisory_xact_lock($1)

-- name: schema.uncompiled
select set_config('jit', 'off', true)

-- name: schema.types
-- why: every kind of array that our statements take, so that the driver learns of all of them at once
select $1::smallint[], $2::integer[], $3::bigint[], $4::text[]

-- name: schema.has_types
select to_regtype('clock_entry') is not null

-- name: schema.own_types
select $1::clock_entry[], $2::clock_row[], $3::new_run[], $4::outcome[], $5::run_ref[], $6::version_ref[], $7::run_note[]

-- name: schema.first
insert into onthedot_schema (version)
values ($1)

-- name: schema.next
update onthedot_schema
set version = $1

-- name: schema.begin_anew
select begin_anew()

-- name: schema.vacuum
vacuum (analyze)
