-- Everything goes in and out as text, so that no setting of a driver changes what it means.
select array_to_string(array_agg(made.id order by made.place), ' ')
from (
  select
    each.place,
    onthedot_enqueue(
      cast(:key as text),
      each.payload,
      cast(cast(:run_at as text) as timestamptz),
      cast(cast(:delay as text) as interval)
    ) as id
  from json_array_elements(cast(cast(:payloads as text) as json)) with ordinality as each(payload, place)
) made
