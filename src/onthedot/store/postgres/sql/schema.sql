-- name: schema.table
select to_regclass('onthedot_schema')

-- name: schema.has_fingerprints
select exists (
  select
  from pg_attribute
  where attrelid = to_regclass('onthedot_schema') and attname = 'fingerprint'
)

-- name: schema.old_version
-- why: of before there were fingerprints; as JSON, since the table has no such column any more
select (to_jsonb(s) ->> 'version')::integer
from onthedot_schema s

-- name: schema.applied
select number, fingerprint
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

-- name: schema.keep
insert into onthedot_schema (number, fingerprint)
values ($1, $2)

-- name: schema.functions
-- why: a form that is known but not the last one is older than what is there
select fingerprint
from onthedot_functions
order by number

-- name: schema.keep_functions
insert into onthedot_functions (fingerprint)
values ($1)

-- name: schema.unchecked
-- why: functions call each other, so a body may name one that is made after it
select set_config('check_function_bodies', 'off', true)

-- name: schema.definers
-- why: what `db grant` has set is reset when a function is replaced; who may execute it is kept
select format('alter function %s security definer set search_path = %I, pg_temp', oid::regprocedure, current_schema())
from pg_proc
where prosecdef and pronamespace = to_regnamespace(quote_ident(current_schema()))

-- name: schema.begin_anew
select begin_anew()

-- name: schema.vacuum
vacuum (analyze)
