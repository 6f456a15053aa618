-- name: notes.is_held
select exists (select 1 from run where job = ? and run = ? and owner = ? and fence = ?)

-- name: notes.add_lines
-- why: the conflict is with the same lines, written again after a lost answer
insert into log (job, run, fence, attempt, number, at, lines)
values (?, ?, ?, ?, ?, ?, ?)
on conflict do nothing

-- name: notes.remember
-- why: how far an earlier attempt came says nothing about this one, but what it left is for this one
insert into memo (job, run, attempt, at, progress, checkpoint)
values (?, ?, ?, ?, ?, ?)
on conflict (job, run) do update
set attempt = excluded.attempt, at = excluded.at,
  progress = coalesce(excluded.progress, case when memo.attempt = excluded.attempt then memo.progress end),
  checkpoint = coalesce(excluded.checkpoint, memo.checkpoint)

-- name: notes.checkpoint
select checkpoint
from memo
where job = ? and run = ? and checkpoint is not null

-- name: notes.progress
select progress
from memo
where job = ? and run = ? and attempt = ?

-- name: notes.lines
select fence, number, attempt, lines
from log
where job = :job and run = :run and (fence, number) > (:fence, :number)
order by fence, number
limit :limit
