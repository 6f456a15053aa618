-- The first schema. Instants are microseconds since the epoch, UTC. A table that is clustered on its
-- key (`without rowid`) is written in key order by the verbs, so that what fires together lies together.

-- The migrations that were applied, each with its fingerprint: one that was edited afterwards is noticed.
create table onthedot_schema (number integer primary key, fingerprint text not null) strict;

-- A random id, part of every public run id. pruned_before: of what was over before it, nothing can be
-- told for certain any more. epoch: part of the numbers that are given out from its beginning on.
create table installation (
  id text not null,
  pruned_before integer not null default 0,
  epoch integer not null default 0
) strict;

-- Each time that a backup was restored. What was written after `since` and up to `until` is lost: it may
-- have happened all the same, and may happen again.
create table went_back (
  epoch integer primary key, noticed_at integer not null, since integer not null, until integer not null,
  reason text not null
) strict;

-- horizon: the instant up to which the shard was claimed.
create table shard (id integer primary key, horizon integer not null) strict;

-- All that the scheduler must know to fire a job, shared by the jobs that say the same; never changed.
create table rule (id integer primary key, spec text not null unique) strict;

-- Definitions. autoincrement: a number is never used again, since history outlives its job.
-- armed: this version has an entry in the clock. lane, priority: copies for the verbs that make runs.
-- since: this version accounts for what is due after it. skipping_from: set while a pause holds occurrences back; all that fall due after it are skipped.
create table job (
  id integer primary key autoincrement,
  version integer not null,
  namespace text not null,
  key text,
  name text not null,
  lane text not null,
  traits integer not null,
  priority integer not null,
  rule integer,
  armed integer not null,
  definition text not null,
  payload text not null,
  anchor integer not null,
  since integer not null,
  skipping_from integer,
  created_at integer not null,
  updated_at integer not null
) strict;
create unique index job_key on job (namespace, key) where key is not null;

-- Superseded definitions, append-only until retention takes them.
create table job_version (
  job integer not null,
  version integer not null,
  name text not null,
  definition text not null,
  payload text not null,
  anchor integer not null,
  since integer not null,
  skipping_from integer,
  cut integer not null,
  ended_at integer not null,
  deleted integer not null,
  primary key (job, version)
) strict, without rowid;
create index job_version_ended on job_version (ended_at);

-- Calendars as they are now; what a version of a job follows is a part of its definition.
create table calendar (
  namespace text not null default 'default',
  name text not null,
  version integer not null,
  rules text not null,
  created_at integer not null,
  updated_at integer not null,
  primary key (namespace, name)
) strict, without rowid;

-- Which version of which calendar the current version of a job follows.
create table calendar_use (
  job integer primary key, namespace text not null default 'default', calendar text not null, version integer not null
) strict;
create index calendar_use_of on calendar_use (namespace, calendar, version, job);

-- The clock: one entry for each active version of a recurring job.
create table clock (
  shard integer not null,
  due integer not null,
  job integer not null,
  version integer not null,
  rule integer not null,
  primary key (shard, due, job, version)
) strict, without rowid;

-- Versions that have ended while their entry is still in the clock; deleted with that entry.
create table cut (
  job integer not null, version integer not null, cut integer not null, deleted integer not null,
  primary key (job, version)
) strict, without rowid;

-- Where the chains of jobs with a fixed delay stand, and all that whoever ends a link must know. run: the
-- link, to come or under way; null: the chain is over. late: one that is not claimed for so long is
-- missed. turns: so many may follow. parked: the job is paused; the next link is only remembered.
create table chain (
  job integer primary key,
  run integer,
  version integer not null,
  lane text not null,
  traits integer not null,
  priority integer not null,
  delay integer not null,
  late integer,
  ends integer,
  turns integer,
  parked integer not null
) strict;

-- Entries that could not be fired, kept for people to look at.
create table aside (
  job integer not null,
  version integer not null,
  due integer not null,
  rule integer not null,
  why text not null,
  set_aside_at integer not null,
  primary key (job, version)
) strict, without rowid;

-- Live runs: claimed or due. owner null: any worker may lease it.
create table run (
  job integer not null,
  run integer not null,
  version integer not null,
  lane text not null,
  traits integer not null,
  priority integer not null,
  due integer not null,
  at integer not null,
  attempt integer not null,
  rescues integer not null,
  fence integer not null,
  payload text,
  expires integer,
  owner integer,
  started integer,
  primary key (job, run)
) strict, without rowid;
-- The order in which workers lease: 60 s of waiting outweigh one level of priority.
create index run_free on run (lane, at - priority * 60000000) where owner is null;

-- Waiting runs: delayed, one-off, retried. The same columns; none has an owner.
create table waiting (
  job integer not null,
  run integer not null,
  version integer not null,
  lane text not null,
  traits integer not null,
  priority integer not null,
  due integer not null,
  at integer not null,
  attempt integer not null,
  rescues integer not null,
  fence integer not null,
  payload text,
  expires integer,
  primary key (job, run)
) strict, without rowid;
create index waiting_at on waiting (job % 16, at);

-- The ledger's past: one row an attempt, one row a missed or skipped range (attempt 0). Rows are
-- appended; the one index finds a job's runs, newest first, and a run by its id, and makes it
-- impossible to record the same thing twice.
-- status: 1 succeeded, 2 failed, 3 cancelled, 4 skipped, 5 missed, 6 lost, 7 failed and retried.
create table history (
  id integer primary key,
  job integer not null,
  run integer not null,
  attempt integer not null,
  fence integer not null,
  version integer not null,
  status integer not null,
  due integer not null,
  started integer,
  finished integer not null,
  node integer,
  rescues integer not null,
  error text,
  output text,
  reason text,
  until integer,
  count integer
) strict;
create unique index history_run on history (job, run, attempt);

-- Dead letters: runs that failed for good, with what is needed to run them again. Outside retention.
create table dead (
  job integer not null,
  run integer not null,
  version integer not null,
  attempt integer not null,
  due integer not null,
  failed_at integer not null,
  error text,
  payload text,
  primary key (job, run)
) strict, without rowid;
create index dead_failed on dead (failed_at, job, run);

-- Which failed run a run does again. Of its own, since hardly any run is one of these.
create table redrive (
  job integer not null, run integer not null, old integer not null, primary key (job, run)
) strict, without rowid;
create unique index redrive_old on redrive (job, old);

-- Notices of failed runs, on their way to the URL that their job names, with all that they say: the
-- job may be edited or deleted meanwhile. at: when the next try is due; null: given up, and kept for
-- people to look at. tries is also the fence: who took it before somebody else has no say any more.
create table outbox (
  job integer not null,
  run integer not null,
  url text not null,
  job_name text not null,
  job_key text,
  status integer not null,
  due integer not null,
  attempt integer not null,
  failed_at integer not null,
  error text,
  reason text,
  tries integer not null,
  at integer,
  given_up_at integer,
  trouble text,
  primary key (job, run)
) strict, without rowid;
create index outbox_at on outbox (at) where at is not null;
create index outbox_given_up on outbox (given_up_at) where given_up_at is not null;

-- What runs say while they are under way, as far as they say anything: lines of text, in groups, under
-- the fence of whoever held the run. lines: JSON, [[at, level, text], ...].
create table log (
  job integer not null,
  run integer not null,
  fence integer not null,
  number integer not null,
  attempt integer not null,
  at integer not null,
  lines text not null,
  primary key (job, run, fence, number)
) strict, without rowid;
create index log_at on log (at);

-- How far a run has come, and what it wants its next attempt to know. attempt: of the progress.
create table memo (
  job integer not null,
  run integer not null,
  attempt integer not null,
  at integer not null,
  progress text,
  checkpoint text,
  primary key (job, run)
) strict, without rowid;
create index memo_at on memo (at);

-- Backfills: instants of the past that are run after all, so many at a time. An instant is in one
-- backfill at most; run: the one that was made for it.
create table backfill (
  id integer primary key autoincrement,
  job integer not null,
  priority integer not null,
  concurrency integer not null,
  newest_first integer not null,
  total integer not null,
  created_at integer not null,
  ended_at integer
) strict;
create index backfill_open on backfill (id) where ended_at is null;
create index backfill_job on backfill (job, id);
create table backfill_item (
  job integer not null,
  due integer not null,
  backfill integer not null,
  run integer,
  primary key (job, due)
) strict, without rowid;
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
  told_at integer,
  shard integer,
  job integer not null default 0,
  again_at integer
) strict, without rowid;

-- The newest of the entries that moved with their zone.
create table zone_move (
  id integer primary key autoincrement,
  at integer not null,
  zone text not null,
  release text not null,
  job integer not null,
  name text not null,
  version integer not null,
  old integer not null,
  new integer
) strict;

-- Answers kept for 24 hours under the caller's Idempotency-Key.
create table idempotency (
  namespace text not null default 'default',
  key text not null,
  fingerprint text not null,
  answer text not null,
  used_at integer not null,
  primary key (namespace, key)
) strict, without rowid;
create index idempotency_used on idempotency (used_at);

-- settled: dead, and nothing is owned by it any more.
create table node (
  id integer primary key autoincrement,
  boot_id text not null,
  host text not null,
  pid integer not null,
  process text not null,
  roles text not null,
  slots integer not null,
  version text not null,
  queues text not null,
  functions text not null,
  runners integer not null,
  joined_at integer not null,
  beat_at integer not null,
  running integer not null default 0,
  held integer not null default 0,
  offset_us integer not null default 0,
  claiming integer not null default 1,
  dead_at integer,
  settled integer not null default 0
) strict;

-- Jobs that the code of an app has declared; gone_at: since when it does so no longer.
create table declared (
  job integer primary key, namespace text not null default 'default', app text not null, gone_at integer
) strict;
create index declared_app on declared (namespace, app);
create index declared_gone on declared (job) where gone_at is not null;

-- Wishes for runs that a node holds.
create table signal (
  node integer not null, job integer not null, run integer not null, reason text not null,
  primary key (node, job, run)
) strict, without rowid;

-- For people with sqlite3 at hand: every run and every range once, live ones included.
create view ledger as
with all_runs as (
  select job, run, due, attempt, started, finished, reason, until, count,
    case status
      when 1 then 'succeeded' when 2 then 'failed' when 3 then 'cancelled'
      when 4 then 'skipped' when 5 then 'missed' when 6 then 'lost'
    end as status
  from history
  where status <> 7
  union all
  select job, run, due, attempt, started, null, null, null, null,
    case when owner is not null and started is not null then 'running' else 'queued' end
  from run
  union all
  select job, run, due, attempt, null, null, null, null, null, 'scheduled'
  from waiting
)
select
  printf('job-%x', job) as job_id,
  (select id from installation) || printf('-%x-%x', job, run) as run_id,
  strftime('%Y-%m-%dT%H:%M:%S', due / 1000000, 'unixepoch') || printf('.%06dZ', due % 1000000) as scheduled_for,
  status,
  attempt,
  strftime('%Y-%m-%dT%H:%M:%S', started / 1000000, 'unixepoch') || printf('.%06dZ', started % 1000000) as started_at,
  strftime('%Y-%m-%dT%H:%M:%S', finished / 1000000, 'unixepoch') || printf('.%06dZ', finished % 1000000) as finished_at,
  reason,
  strftime('%Y-%m-%dT%H:%M:%S', until / 1000000, 'unixepoch') || printf('.%06dZ', until % 1000000) as until,
  count
from all_runs;
