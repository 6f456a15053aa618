-- name: hints.tell
-- why: alone in its transaction, since a commit that notifies takes a lock that all such commits share
select pg_notify('onthedot', $1)

-- name: hints.ping
select 1
