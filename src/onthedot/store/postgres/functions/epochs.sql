-- A database that was taken back in time (a backup put back under running nodes, a failover to a replica
-- that lagged behind) gives out numbers a second time. These functions notice it and see to it that no
-- number gets a second meaning.

create or replace function server_started() returns bigint language sql stable as $$
  select (date_part('epoch', pg_postmaster_start_time()) * 1000000)::bigint
$$;

-- The timeline, which every failover changes, and how far the log has been flushed. Zero where a service
-- does not tell: then heartbeats and numbers alone have to show it.
create or replace function place_in_log(out timeline bigint, out flushed bigint) language plpgsql as $$
begin
  timeline := ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint;
  flushed := (pg_current_wal_flush_lsn() - '0/0')::bigint;
exception when others then
  timeline := 0;
  flushed := 0;
end $$;

-- Passes a node's number on if the database is the one that the node remembers. proof_: when it joined,
-- its last heartbeat, when the server was started. SQLSTATE OT007: it is another one, or an older one.
create or replace function proven(node_ bigint, proof_ bigint[]) returns bigint language plpgsql as $$
begin
  if proof_ is not null and (
    proof_[3] <> server_started()
    or not exists (select from node where id = node_ and joined_at = proof_[1] and beat_at >= proof_[2])
    -- A node that died long ago has been forgotten; that it is dead it is told by whoever asked this.
    and (exists (select from node where id = node_) or proof_[2] >= (select pruned_before from installation))
  ) then
    raise exception 'the database is not as node % remembers it', node_ using errcode = 'OT007';
  end if;
  return node_;
end $$;

-- Numbers are 7 bits for a cell, 24 for the epoch and 32 that count up; those that JSON shows as numbers
-- count up in 20, so that all of it fits into 53. An epoch is taken from the time (epoch_) and is later than any that is known
-- here or to the caller (seen_), and counting begins at random (chance_): restoring one backup twice must
-- not lead to the same numbers. reason_: why what was written from since_ (null: the last heartbeat) to
-- until_ is lost; null: nothing is known to be. Nothing is done if somebody else has begun one since the caller looked.
create or replace function begin_epoch(
  seen_ bigint, epoch_ bigint, chance_ bigint, now_ bigint, since_ bigint, until_ bigint, reason_ text
) returns bigint language plpgsql as $$
declare known bigint; last bigint; item record;
begin
  select epoch into known from installation for update;
  if known > seen_ then
    return known;
  end if;
  last := coalesce(pg_sequence_last_value(pg_get_serial_sequence('job', 'id')::regclass), 0) >> 32;
  epoch_ := greatest(epoch_, seen_ + 1, last + 1);
  for item in
    select * from (values
      ('job', 32), ('rule', 32), ('near', 32), ('far', 32), ('node', 20), ('backfill', 20), ('zone_move', 20)
    ) as x(name, bits)
  loop
    perform setval(
      pg_get_serial_sequence(item.name, 'id')::regclass,
      (epoch_ << item.bits) + chance_ % (1::bigint << (item.bits - 1)) + 1
    );
  end loop;
  if reason_ is not null then
    since_ := coalesce(since_, (select max(beat_at) from node), 0);
    insert into went_back (epoch, noticed_at, since, until, reason)
    values (epoch_, now_, since_, greatest(since_, until_), reason_);
  end if;
  update installation set epoch = epoch_;
  return epoch_;
end $$;
