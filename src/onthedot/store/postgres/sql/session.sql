-- What a function may have done to its session. Six of these go together before a completion: a
-- role, a setting or a temporary table of the function would change what our statement does.

-- name: session.place
-- why: a function may have tables and functions of its own that are called as ours are, hardly this one
select quote_ident(n.nspname)
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.oid = to_regclass('onthedot_schema')

-- name: session.close_cursors
close all

-- name: session.reset_user
reset session authorization

-- name: session.reset_role
reset role

-- name: session.reset_settings
reset all

-- name: session.drop_temporary
discard temp

-- name: session.savepoint
savepoint onthedot_completion

-- name: session.back_to_savepoint
rollback to savepoint onthedot_completion

-- name: session.forget
-- why: outside a transaction, before another function gets the session
discard all
