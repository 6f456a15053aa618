"""The schedules that a bench fires: every job on an interval of its own, as in the worst of worlds.

Equal intervals would be friendlier: what fires together would go back to the same few places. With
these intervals 500,000 jobs fall due at about 17,000 a second, so that the clock is about as dense
as that of a system which really runs at such a rate.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from onthedot.core.instants import DAY, SECOND
from onthedot.core.model import Definition
from onthedot.core.schedules import Every

INTERVALS = tuple(Every(seconds * SECOND) for seconds in range(2, 121))
QUEUES = ("default", "mail", "reports", "sync")
PRIORITIES = (3, 5, 7)
PAYLOAD = (
    '{"template":"welcome","to":"someone@example.org","items":[1,2,3,4,5,6,7,8],"locale":"en-GB"}'
)


def definitions(count: int, seed: int = 1) -> Iterator[Definition]:
    """`count` jobs. A window of a day: nothing is missed, however far a bench falls behind."""
    chance = Random(seed)
    for number in range(count):
        yield Definition(
            name=f"bench-{number}",
            handler_url="http://127.0.0.1:9/bench",
            schedule=INTERVALS[int(chance.random() * len(INTERVALS))],
            payload=PAYLOAD,
            queue=QUEUES[int(chance.random() * len(QUEUES))],
            priority=PRIORITIES[int(chance.random() * len(PRIORITIES))],
            catch_up_window_us=DAY,
        )


def due_until(jobs: list[tuple[int, int]], until: int) -> int:
    """How many occurrences fall due up to an instant, for jobs given as (anchor, interval)."""
    return sum((until - anchor) // every for anchor, every in jobs)
