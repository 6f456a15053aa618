-- The bits of a run's traits, as in core/traits.py. The column says which of the job's policies whoever
-- makes, leases or ends the run must know.

-- Whether it may be the link of a chain, that is: its job has a fixed delay.
create or replace function is_chained(traits smallint) returns boolean language sql immutable parallel safe as $$
  select traits & 1::smallint <> 0
$$;

-- Whether a lease of it counts as its start.
create or replace function is_at_most_once(traits smallint) returns boolean language sql immutable parallel safe as $$
  select traits & 2::smallint <> 0
$$;

-- Whether the end of such a run has consequences, however it ended.
create or replace function is_followed(traits smallint) returns boolean language sql immutable parallel safe as $$
  select is_chained(traits)
$$;
