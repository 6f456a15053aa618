-- What others may call in a transaction of their own, from any language: the run is there if and when
-- that commits, and the notification goes out with it. Time is the database's, read here: there is
-- nobody else who could say it. SQLSTATE: OT004 no such job, OT005 what was given cannot be kept.
create or replace function onthedot_enqueue(
  job_key text, payload json default null, run_at timestamptz default null, delay interval default null
) returns text language plpgsql set search_path from current as $$
declare
  now_ bigint := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
  due_ bigint := now_;
  number_ bigint;
  job_ bigint;
begin
  if octet_length(payload::text) > 65536 then
    raise exception 'payload has % bytes, at most 65536 are kept', octet_length(payload::text)
      using errcode = 'OT005', hint = 'Keep large data elsewhere and send a reference to it.';
  end if;
  if run_at is not null and delay is not null then
    raise exception 'run_at and delay are both given' using errcode = 'OT005', hint = 'Keep one of them.';
  end if;
  if run_at is not null then
    due_ := (extract(epoch from run_at) * 1000000)::bigint;
  elsif delay is not null then
    due_ := now_ + (extract(epoch from delay) * 1000000)::bigint;
  end if;
  if due_ < 0 or due_ > 7258118399999999 or due_ < now_ and delay is not null then
    raise exception 'the run would be due at an instant before 1970, after 2199, or before now'
      using errcode = 'OT005', hint = 'Give another run_at, or a delay that is not negative.';
  end if;
  select id into job_ from job where namespace = 'default' and key = job_key;
  if found then
    number_ := enqueue(job_, due_, payload::text, now_, now_);
  end if;
  if number_ is null then
    raise exception 'there is no job with the key %', quote_literal(job_key)
      using errcode = 'OT004', hint = 'A job is known by its key; `onthedot serve --app` brings the jobs of an app in.';
  end if;
  perform pg_notify('onthedot', case when due_ > now_ then 'clock' else 'queue' end);
  return (select id from installation) || '-' || to_hex(job_) || '-' || to_hex(number_);
end $$;
