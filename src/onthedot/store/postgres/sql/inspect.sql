-- name: inspect.strangers
-- why: what belongs to an extension says nothing about who uses the database
select exists (
  select
  from pg_class c
  where c.relnamespace = to_regnamespace(quote_ident(current_schema()))
    and c.relkind in ('r', 'p', 'v', 'm', 'f')
    and not exists (
      select
      from pg_depend d
      where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e'
    )
)

-- name: inspect.settings
select name, current_setting(name)
from unnest(array[
  'server_version', 'fsync', 'synchronous_commit', 'full_page_writes', 'shared_buffers', 'max_wal_size'
]) name
