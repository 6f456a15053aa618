-- Every write of a node goes through this: the key share makes a burial wait for our commit, and a
-- node that is buried already is refused.
create or replace function require_alive(node_ bigint) returns void language plpgsql as $$
begin
  perform from node where id = node_ and dead_at is null for key share;
  if not found then
    raise exception 'node % is dead', node_ using errcode = 'OT003';
  end if;
end $$;

-- For a verb that finds nothing to write. The lock is a write, too: it would wait for the disk.
create or replace function refuse_dead(node_ bigint) returns void language plpgsql as $$
begin
  if not exists (select from node where id = node_ and dead_at is null) then
    raise exception 'node % is dead', node_ using errcode = 'OT003';
  end if;
end $$;
