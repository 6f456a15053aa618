-- name: grants.schema
grant usage on schema {place} to {role}

-- name: grants.lease
-- why: whether a run is held is asked before the function works; nothing else of it can be read
grant select (job, run, attempt, fence, owner) on {place}.run to {role}

-- name: grants.definer
-- why: it writes to tables that whoever calls it may not, and finds no others by their names
alter function {place}.complete(bigint, bigint, integer, integer, bigint, bigint)
  security definer set search_path = {place}, pg_temp

-- name: grants.hidden
revoke execute on function {place}.complete(bigint, bigint, integer, integer, bigint, bigint) from public

-- name: grants.completion
grant execute on function {place}.complete(bigint, bigint, integer, integer, bigint, bigint) to {role}

-- name: grants.place
select quote_ident(current_schema()), quote_ident($1)
