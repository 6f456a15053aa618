-- name: audit.unfired
-- why: the clock has no index on jobs; of what is due there is little, so that is read
select e.version, e.due
from (
  select jobs, versions, dues from near where shard = :shard and slot <= :near
  union all
  select jobs, versions, dues from far where shard = :shard and slot <= :far
) packed, unnest(packed.jobs, packed.versions, packed.dues) as e(job, version, due)
where e.job = :job and e.due <= :until
