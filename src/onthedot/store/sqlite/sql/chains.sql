-- name: chains.get
select job, run, version, lane, traits, priority, delay, late, ends, turns, parked
from chain
where job = ?

-- name: chains.put
insert or replace into chain (job, run, version, lane, traits, priority, delay, late, ends, turns, parked)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: chains.drop
delete from chain
where job = ?

-- name: chains.advance_chain
update chain
set run = ?, turns = ?
where job = ?

-- name: chains.among
select job, run
from chain
where job in (select value from json_each(?))
