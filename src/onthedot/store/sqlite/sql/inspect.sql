-- name: inspect.ours
select exists (select 1 from sqlite_schema where type = 'table' and name = 'installation')

-- name: inspect.has_fingerprints
select exists (select 1 from sqlite_schema where type = 'table' and name = 'onthedot_schema')

-- name: inspect.applied
select number, fingerprint
from onthedot_schema

-- name: inspect.keep
insert into onthedot_schema (number, fingerprint)
values (?, ?)

-- name: inspect.strangers
select exists (select 1 from sqlite_schema)

-- name: inspect.names
select name from sqlite_schema
