-- Whether a worker that subscribes to these queues (none given: to all) and has these Python functions
-- takes a lane: a queue, and for a run that calls a function its name after a bar. What is started at
-- most once ends with a bar and an exclamation mark.
create or replace function is_taken_by(lane text, queues_ text[], functions_ text[]) returns boolean
language sql immutable parallel safe as $$
  select (cardinality(queues_) = 0 or split_part(lane, '|', 1) = any(queues_))
    and (split_part(lane, '|', 2) = '' or split_part(lane, '|', 2) = any(functions_))
$$;

create or replace function is_at_most_once(lane text) returns boolean language sql immutable parallel safe as $$
  select right(lane, 2) = '|!'
$$;
