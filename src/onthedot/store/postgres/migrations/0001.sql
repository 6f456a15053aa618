-- The first schema. Instants are microseconds since the epoch, UTC. The tables are those of the
-- SQLite store, except the clock: its entries are packed into arrays, since what a run costs here is
-- the row versions and index entries that it leaves behind.

-- The migrations that were applied, each with its fingerprint: one that was edited afterwards is noticed.
create table onthedot_schema (number integer primary key, fingerprint text not null);

-- Every form of `functions/` that was put into this database, by its fingerprint; the last one is there now.
create table onthedot_functions (
  number bigint generated always as identity primary key,
  fingerprint text not null
);

-- pruned_before: of what was over before it, nothing can be told for certain any more.
-- epoch: part of the numbers that are given out from its beginning on (`begin_epoch`).
create table installation (id text not null, pruned_before bigint not null default 0, epoch bigint not null default 0);

-- Each time that the database was found to have gone back in time, or `onthedot db restored` said so. What
-- was written after `since` and up to `until` is lost: it may have happened all the same, and may happen again.
create table went_back (
  epoch bigint primary key,
  noticed_at bigint not null,
  since bigint not null,
  until bigint not null,
  reason text not null
);

-- What goes into the verbs by the thousand, as arrays of rows: the driver writes such a row in a
-- third of the time that it needs for the same values in arrays of their own.
create type clock_entry as (shard smallint, due bigint, job bigint, version integer, rule bigint);
create type clock_row as (shard smallint, slot bigint, id bigint);
create type new_run as (
  job bigint, run bigint, version integer, lane text, traits smallint, priority smallint,
  due bigint, at bigint, payload text, expires bigint
);
create type outcome as (
  job bigint, run bigint, attempt integer, fence integer, status text, started bigint, finished bigint,
  error text, output text, reason text, retry_at bigint
);
create type run_ref as (job bigint, run bigint, fence integer);
create type version_ref as (job bigint, version integer);
create type run_ended as (
  job bigint, run bigint, attempt integer, fence integer, version integer, status smallint, due bigint, started bigint,
  finished bigint, node bigint, rescues integer, error text, output text, reason text, payload text, traits smallint
);
create type run_note as (
  job bigint, run bigint, fence integer, attempt integer, number integer, at bigint, lines text,
  progress text, checkpoint text
);

-- horizon: the instant up to which the shard was claimed. split_until: far slots before it have been
-- split into near ones. A low fillfactor keeps every update on its page, without index entries.
create table shard (id smallint primary key, horizon bigint not null, split_until bigint not null) with (fillfactor = 10);

-- A spec may have a calendar in it, which is longer than a btree takes: so the hash is unique.
create table rule (
  id bigint generated always as identity primary key,
  spec text not null,
  exclude using hash (spec with =)
);

create table job (
  id bigint generated always as identity primary key,
  version integer not null,
  namespace text not null,
  key text,
  name text not null,
  lane text not null,
  traits smallint not null,
  priority smallint not null,
  rule bigint,
  armed boolean not null,
  definition text not null,
  payload text not null,
  anchor bigint not null,
  since bigint not null,
  skipping_from bigint,
  created_at bigint not null,
  updated_at bigint not null
);
create unique index job_key on job (namespace, key) where key is not null;

create table job_version (
  job bigint not null,
  version integer not null,
  name text not null,
  definition text not null,
  payload text not null,
  anchor bigint not null,
  since bigint not null,
  skipping_from bigint,
  cut bigint not null,
  ended_at bigint not null,
  deleted boolean not null,
  primary key (job, version)
);
create index job_version_ended on job_version (ended_at);

-- Calendars as they are now; what a version of a job follows is a part of its definition.
create table calendar (
  namespace text not null default 'default',
  name text not null,
  version integer not null,
  rules text not null,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (namespace, name)
);

-- Which version of which calendar the current version of a job follows.
create table calendar_use (
  job bigint primary key, namespace text not null default 'default', calendar text not null, version integer not null
);
create index calendar_use_of on calendar_use (namespace, calendar, version, job);

-- The clock, as a timing wheel of two levels. One row is up to a thousand entries of one slot of one
-- shard: near slots are half a second wide, far ones a minute. storage external: compressing
-- what is read once would cost more than it saves.
create table near (
  shard smallint not null,
  slot bigint not null,
  id bigint generated always as identity (cache 100),
  jobs bigint[] not null,
  versions integer[] not null,
  dues bigint[] not null,
  rules bigint[] not null,
  primary key (shard, slot, id)
);
create table far (
  shard smallint not null,
  slot bigint not null,
  id bigint generated always as identity (cache 100),
  jobs bigint[] not null,
  versions integer[] not null,
  dues bigint[] not null,
  rules bigint[] not null,
  primary key (shard, slot, id)
);
alter table near
  alter column jobs set storage external, alter column versions set storage external,
  alter column dues set storage external, alter column rules set storage external;
alter table far
  alter column jobs set storage external, alter column versions set storage external,
  alter column dues set storage external, alter column rules set storage external;

create table cut (
  job bigint not null, version integer not null, cut bigint not null, deleted boolean not null,
  primary key (job, version)
);

-- A fillfactor that keeps every update on its page: each turn of a chain is one.
create table chain (
  job bigint primary key,
  run bigint,
  version integer not null,
  lane text not null,
  traits smallint not null,
  priority smallint not null,
  delay bigint not null,
  late bigint,
  ends bigint,
  turns integer,
  parked boolean not null
) with (fillfactor = 70);

create table aside (
  job bigint not null,
  version integer not null,
  due bigint not null,
  rule bigint not null,
  why text not null,
  set_aside_at bigint not null,
  primary key (job, version)
);

create table run (
  job bigint not null,
  run bigint not null,
  version integer not null,
  lane text not null,
  traits smallint not null,
  priority smallint not null,
  due bigint not null,
  at bigint not null,
  attempt integer not null,
  rescues integer not null,
  fence integer not null,
  payload text,
  expires bigint,
  owner bigint,
  started bigint,
  primary key (job, run)
);
-- No index on owner: it would cost every run an entry, and only a rescue looks for it.
create index run_free on run (lane, (at - priority * 60000000::bigint)) where owner is null;

create table waiting (
  job bigint not null,
  run bigint not null,
  version integer not null,
  lane text not null,
  traits smallint not null,
  priority smallint not null,
  due bigint not null,
  at bigint not null,
  attempt integer not null,
  rescues integer not null,
  fence integer not null,
  payload text,
  expires bigint,
  primary key (job, run)
);
create index waiting_at on waiting (at);

-- status: 1 succeeded, 2 failed, 3 cancelled, 4 skipped, 5 missed, 6 lost, 7 failed and retried.
create table history (
  job bigint not null,
  run bigint not null,
  attempt integer not null,
  fence integer not null,
  version integer not null,
  status smallint not null,
  due bigint not null,
  started bigint,
  finished bigint not null,
  node bigint,
  rescues integer not null,
  error text,
  output text,
  reason text,
  until bigint,
  count bigint,
  primary key (job, run, attempt)
) partition by range (run);
-- For what lies outside the days that the janitor has made; pruned in small steps.
create table history_default partition of history default;

create table dead (
  job bigint not null,
  run bigint not null,
  version integer not null,
  attempt integer not null,
  due bigint not null,
  failed_at bigint not null,
  error text,
  payload text,
  primary key (job, run)
);
create index dead_failed on dead (failed_at, job, run);

-- Which failed run a run does again. Of its own, since hardly any run is one of these.
create table redrive (job bigint not null, run bigint not null, old bigint not null, primary key (job, run));
create unique index redrive_old on redrive (job, old);

-- Notices of failed runs, on their way to the URL that their job names, with all that they say: the
-- job may be edited or deleted meanwhile. at: when the next try is due; null: given up, and kept for
-- people to look at. tries is also the fence: who took it before somebody else has no say any more.
create table outbox (
  job bigint not null,
  run bigint not null,
  url text not null,
  job_name text not null,
  job_key text,
  status smallint not null,
  due bigint not null,
  attempt integer not null,
  failed_at bigint not null,
  error text,
  reason text,
  tries integer not null,
  at bigint,
  given_up_at bigint,
  trouble text,
  primary key (job, run)
);
create index outbox_at on outbox (at) where at is not null;
create index outbox_given_up on outbox (given_up_at) where given_up_at is not null;

-- What runs say while they are under way, as far as they say anything: lines of text, in groups, under
-- the fence of whoever held the run. lines: JSON, [[at, level, text], ...].
create table log (
  job bigint not null,
  run bigint not null,
  fence integer not null,
  number integer not null,
  attempt integer not null,
  at bigint not null,
  lines text not null,
  primary key (job, run, fence, number)
);
create index log_at on log (at);

-- How far a run has come, and what it wants its next attempt to know. attempt: of the progress.
create table memo (
  job bigint not null,
  run bigint not null,
  attempt integer not null,
  at bigint not null,
  progress text,
  checkpoint text,
  primary key (job, run)
);
create index memo_at on memo (at);

-- Backfills: instants of the past that are run after all, so many at a time. An instant is in one
-- backfill at most; run: the one that was made for it.
create table backfill (
  id bigint generated always as identity primary key,
  job bigint not null,
  priority smallint not null,
  concurrency integer not null,
  newest_first boolean not null,
  total integer not null,
  created_at bigint not null,
  ended_at bigint
);
create index backfill_open on backfill (id) where ended_at is null;
create index backfill_job on backfill (job, id);
create table backfill_item (
  job bigint not null,
  due bigint not null,
  backfill bigint not null,
  run bigint,
  primary key (job, due)
);
create index backfill_items on backfill_item (backfill, due);
create index backfill_runs on backfill_item (job, run) where run is not null;

-- The offsets of the zones in use, by which entries are worked out, and the release of the tz database
-- that they are from. before: those that they replaced. told_at: when they changed. shard, job: how far
-- the entries have been looked at since; null: they have. again_at: when that is done once more.
create table zone (
  name text primary key,
  release text not null,
  offsets text not null,
  before text,
  told_at bigint,
  shard smallint,
  job bigint not null default 0,
  again_at bigint
);

-- The newest of the entries that moved with their zone.
create table zone_move (
  id bigint generated always as identity primary key,
  at bigint not null,
  zone text not null,
  release text not null,
  job bigint not null,
  name text not null,
  version integer not null,
  old bigint not null,
  new bigint
);

create table idempotency (
  namespace text not null default 'default',
  key text not null,
  fingerprint text not null,
  answer text not null,
  used_at bigint not null,
  primary key (namespace, key)
);
create index idempotency_used on idempotency (used_at);

-- beat_at is written by the database's clock, the only one that all nodes share.
create table node (
  id bigint generated always as identity primary key,
  boot_id text not null,
  host text not null,
  pid bigint not null,
  process text not null,
  roles text not null,
  slots integer not null,
  version text not null,
  queues text not null,
  functions text not null,
  runners integer not null,
  joined_at bigint not null,
  beat_at bigint not null,
  running integer not null default 0,
  held integer not null default 0,
  offset_us bigint not null default 0,
  claiming boolean not null default true,
  dead_at bigint,
  settled boolean not null default false
) with (fillfactor = 20);

-- Jobs that the code of an app has declared; gone_at: since when it does so no longer.
create table declared (
  job bigint primary key, namespace text not null default 'default', app text not null, gone_at bigint
);
create index declared_app on declared (namespace, app);
create index declared_gone on declared (job) where gone_at is not null;

create table signal (
  node bigint not null, job bigint not null, run bigint not null, reason text not null,
  primary key (node, job, run)
);
