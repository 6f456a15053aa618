-- name: audit.unfired
-- why: the clock has no index on jobs; of what is due there is little, so that is read
select version, due
from clock
where shard = :shard and due <= :until and job = :job
