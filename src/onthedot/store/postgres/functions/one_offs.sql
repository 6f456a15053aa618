-- One-off jobs whose run is over and forgotten. Those that somebody is at are passed over, and when
-- the others are locked it is asked again whether they have a run: an edit or a trigger that was
-- committed just before would otherwise be answered and then lost.
create or replace function forget_one_offs(before_ bigint, limit_ integer) returns integer language plpgsql as $$
declare ids bigint[]; n integer;
begin
  select array_agg(id) into ids
  from (
    select j.id
    from job j
    where j.rule is null and j.skipping_from is null and j.updated_at < before_
      and (j.definition::jsonb -> 'schedule' ->> 'at')::bigint < before_
      and not exists (select from run r where r.job = j.id)
      and not exists (select from waiting w where w.job = j.id)
      and not exists (select from history h where h.job = j.id)
      and not exists (select from dead d where d.job = j.id)
    order by j.id
    limit limit_
    for update of j skip locked
  ) spent;
  delete from job j
  where j.id = any(ids)
    and not exists (select from run r where r.job = j.id)
    and not exists (select from waiting w where w.job = j.id)
    and not exists (select from history h where h.job = j.id)
    and not exists (select from dead d where d.job = j.id);
  get diagnostics n = row_count;
  return n;
end $$;
