-- Whether a worker that subscribes to these queues (none given: to all) and has these Python functions
-- takes a lane: namespace, queue and the function that its runs call, if any, with bars between them.
create or replace function is_taken_by(lane text, queues_ text[], functions_ text[]) returns boolean
language sql immutable parallel safe as $$
  select (cardinality(queues_) = 0 or split_part(lane, '|', 2) = any(queues_))
    and (split_part(lane, '|', 3) = '' or split_part(lane, '|', 3) = any(functions_))
$$;
