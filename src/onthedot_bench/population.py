"""The schedules that a bench fires: a mix as a whole company would have it.

60 % cron at the minutes people choose, in 40 zones; 30 % random intervals of 60 to 3,600 s; 10 %
under a minute. So most jobs come rarely and together, and most runs are those of a few busy jobs.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import NamedTuple, TypeVar

from onthedot.core.instants import DAY, SECOND, Instant
from onthedot.core.model import Definition
from onthedot.core.schedules import Cron, Every

T = TypeVar("T")

QUEUES = ("default", "mail", "reports", "sync")
PRIORITIES = (3, 5, 7)
PAYLOAD = (
    '{"template":"welcome","to":"someone@example.org","items":[1,2,3,4,5,6,7,8],"locale":"en-GB"}'
)
ZONES = (
    *("UTC", "Europe/London", "Europe/Berlin", "Europe/Paris", "Europe/Madrid", "Europe/Rome"),
    *("Europe/Warsaw", "Europe/Athens", "Europe/Helsinki", "Europe/Istanbul", "Europe/Moscow"),
    *("America/New_York", "America/Chicago", "America/Denver", "America/Los_Angeles"),
    *("America/Toronto", "America/Mexico_City", "America/Bogota", "America/Lima"),
    *("America/Santiago", "America/Sao_Paulo", "America/Argentina/Buenos_Aires"),
    *("America/St_Johns", "Africa/Cairo", "Africa/Lagos", "Africa/Nairobi"),
    *("Africa/Johannesburg", "Asia/Dubai", "Asia/Karachi", "Asia/Kolkata", "Asia/Kathmandu"),
    *("Asia/Dhaka", "Asia/Bangkok", "Asia/Singapore", "Asia/Shanghai", "Asia/Tokyo"),
    *("Australia/Perth", "Australia/Adelaide", "Australia/Sydney", "Pacific/Auckland"),
)
_DAILY = tuple(f"{minute} {hour} * * *" for hour in range(24) for minute in (0, 30))
_HOURLY = ("0 * * * *", "15 * * * *", "30 * * * *", "45 * * * *")
# How often each occurs among a hundred crons.
_CRONS = (
    *[("*/5 * * * *",)] * 10,
    *[("*/15 * * * *",)] * 10,
    *[("*/30 * * * *",)] * 5,
    *[_HOURLY] * 35,
    *[_DAILY] * 40,
)


class Handler(NamedTuple):
    """What the jobs of a population call: a URL or a function."""

    url: str = ""
    function: str = ""


NOBODY = Handler(url="http://127.0.0.1:9/bench")


def definitions(count: int, handler: Handler = NOBODY, seed: int = 1) -> Iterator[Definition]:
    """`count` jobs. A window of a day: nothing is missed, however far a bench falls behind."""
    chance = Random(seed)
    known: dict[tuple[str, str], Cron] = {}
    for number in range(count):
        yield Definition(
            name=f"bench-{number}",
            handler_url=handler.url,
            handler=handler.function,
            schedule=_schedule(chance, known),
            payload=PAYLOAD,
            queue=_one_of(chance, QUEUES),
            priority=_one_of(chance, PRIORITIES),
            catch_up_window_us=DAY,
        )


def _schedule(chance: Random, known: dict[tuple[str, str], Cron]) -> Cron | Every:
    share = chance.random()
    if share < 0.1:
        return Every(int(2 + chance.random() * 58) * SECOND)
    if share < 0.4:
        return Every(int(60 + chance.random() * 3_541) * SECOND)
    which = _one_of(chance, _one_of(chance, _CRONS)), _one_of(chance, ZONES)
    if which not in known:
        known[which] = Cron.parse(*which)
    return known[which]


def _one_of(chance: Random, these: tuple[T, ...]) -> T:
    return these[int(chance.random() * len(these))]


class Dues:
    """What falls due of jobs that were created together, counted apart from the engine's plans.

    In few bytes, since it lies in the memory of the node that is measured: of all jobs that were
    created at an instant, how many have which schedule, by number.
    """

    def __init__(self) -> None:
        self._schedules: dict[Cron | Every, int] = {}
        self._created: dict[Instant, array[int]] = {}

    def add(self, created: Instant, schedule: Cron | Every) -> None:
        number = self._schedules.setdefault(schedule, len(self._schedules))
        counts = self._created.get(created)
        if counts is None:
            counts = self._created[created] = array("L")
        if number >= len(counts):
            counts.extend([0] * (len(self._schedules) - len(counts)))
        counts[number] += 1

    def until(self, last: Instant) -> int:
        """How many occurrences fall due up to an instant."""
        return sum(
            count * _between(created, schedule, last)
            for created, counts in self._created.items()
            for schedule, count in self._of(counts)
        )

    def rate(self) -> float:
        """How many fall due in a second; on an average over a day."""
        jobs: Counter[Cron | Every] = Counter()
        for counts in self._created.values():
            for schedule, count in self._of(counts):
                jobs[schedule] += count
        begin = min(self._created, default=0)
        return sum(
            count * _between(begin, schedule, begin + DAY) * SECOND / DAY
            for schedule, count in jobs.items()
        )

    def _of(self, counts: array[int]) -> Iterator[tuple[Cron | Every, int]]:
        # The numbers were given in the order in which the schedules are kept.
        kept = zip(self._schedules, counts, strict=False)
        return ((each, count) for each, count in kept if count)


def _between(created: Instant, schedule: Cron | Every, last: Instant) -> int:
    if isinstance(schedule, Every):
        return max(0, (last - created) // schedule.every_us)
    found, due = 0, schedule.after(created, anchor=created)
    while due is not None and due <= last:
        found += 1
        due = schedule.after(due, anchor=due)
    return found
