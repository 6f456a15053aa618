-- name: inspect.ours
select exists (select 1 from sqlite_schema where type = 'table' and name = 'installation')

-- name: inspect.strangers
select exists (select 1 from sqlite_schema)
