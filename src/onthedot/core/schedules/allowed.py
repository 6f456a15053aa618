"""A schedule under a calendar: what becomes of instants that it does not allow.

`skip` leaves them out. `next` and `previous` move each to the nearest day, after it or before it,
on which its time of day is allowed; several that come to one instant are one occurrence. It is a
pure function of instants: nothing that was moved has to be remembered.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from onthedot.core.effort import DECISION_MAX, charge, spent
from onthedot.core.instants import DAY, SECOND, Instant
from onthedot.core.schedules.calendar import Calendar
from onthedot.core.schedules.calendar_days import ROLL_DAYS_MAX
from onthedot.core.schedules.cron import Cron
from onthedot.core.schedules.every import Every
from onthedot.core.schedules.wall import DAY_S, seconds_of, wall_of
from onthedot.core.schedules.zones import zone_of
from onthedot.errors import TooCostly

if TYPE_CHECKING:
    from onthedot.core.schedules.span import Schedule

Roll = Literal["skip", "next", "previous"]

ROLLED_PER_DAY_MAX: Final = 24
"""Only schedules that name no more instants a day may be moved: a search looks at each of them."""

STEPS_MAX: Final = 1_800
"""So many instants of a schedule are looked at for one that is due: ROLL_DAYS_MAX days and more of
ROLLED_PER_DAY_MAX instants. It bounds what one schedule costs everybody, when it is fired as well.
"""

# Days on the wall and days of 24 hours part by a DST change: never by as much as this.
_SLACK: Final = 2


@dataclass(frozen=True, slots=True)
class Allowed:
    """Of `base`, what the calendar allows in the zone, and what is moved to where it does."""

    base: Schedule
    calendar: Calendar
    roll: Roll = "skip"
    timezone: str = "UTC"

    def after(self, instant: Instant, *, anchor: Instant = 0) -> Instant | None:
        """The first due instant strictly after; None when there is none before 2200. Raises
        TooCostly if it would have to look at too many that come to nothing.
        """
        if self.roll == "skip":
            return self._after_skip(instant, anchor)
        found = next(self._rolled(instant, anchor), None)
        return None if found is None else found.due

    def landings(self, instant: Instant, *, anchor: Instant = 0) -> Iterator[Landing]:
        """All that is due strictly after, in order. Each instant of the schedule is looked at once,
        however many are asked for.
        """
        if self.roll != "skip":
            yield from self._rolled(instant, anchor)
            return
        due = self._after_skip(instant, anchor)
        while due is not None:
            yield Landing(due, [due])
            due = self._after_skip(due, anchor)

    def lands(self, nominal: Instant) -> Instant | None:
        """Where an instant of the schedule comes to; None: it is left out."""
        days, zone = self.calendar.days, zone_of(self.timezone)
        second, below = divmod(nominal, SECOND)
        wall = wall_of(zone, second)
        if days.allows(wall):
            return nominal
        if self.roll == "skip":
            return None
        moved = days.nearest(wall, 1 if self.roll == "next" else -1)
        found = () if moved is None else seconds_of(zone, moved, "after", "first")
        # Where the clocks leave that time out, what comes after the gap need not be allowed.
        if not found or not days.allows(wall_of(zone, found[0])):
            return None
        return found[0] * SECOND + below

    def against(self, nominal: Instant) -> str:
        """The rule that does not allow an instant of the schedule; empty: it is allowed."""
        return self.calendar.against(wall_of(zone_of(self.timezone), nominal // SECOND))

    def gathered(self, due: Instant, *, anchor: Instant = 0) -> list[Instant]:
        """The instants of the schedule that come to this one, the nearest of them first."""
        if self.roll == "skip":
            return [due] if self.base.after(due - 1, anchor=anchor) == due else []
        found = next(self._rolled(due - 1, anchor), None)
        return found.nominals if found is not None and found.due == due else []

    def count(self, first: Instant, last: Instant, *, anchor: Instant = 0) -> int | None:
        """How many due instants lie in [first, last]; None when counting them takes too long."""
        total, begun = 0, spent()
        for landing in self.landings(first - 1, anchor=anchor):
            if landing.due > last:
                break
            total += 1
            if spent() - begun > DECISION_MAX + STEPS_MAX:  # the first alone may take STEPS_MAX
                return None
        return total

    def _after_skip(self, instant: Instant, anchor: Instant) -> Instant | None:
        days, zone = self.calendar.days, zone_of(self.timezone)
        due = self.base.after(instant, anchor=anchor)
        for _ in range(STEPS_MAX):
            charge(1)
            if due is None:
                return None
            second = due // SECOND
            segment = zone.segment(second)
            wall = second + segment.offset
            opens = days.opens(wall)
            if opens == wall:
                return due
            # The clock may be set back at the end of the segment, to times that were passed over.
            if opens is None and days.opens(wall - DAY_S) is None:
                return None
            until = segment.end if opens is None else min(opens - segment.offset, segment.end)
            due = self.base.after(until * SECOND - 1, anchor=anchor)
        raise too_costly()

    def _rolled(self, instant: Instant, anchor: Instant) -> Iterator[Landing]:
        """Goes through the instants of the schedule in order, and holds back where each comes to
        until nothing that follows can come to before it.
        """
        sweep, due = _Sweep(instant), self._first_nominal(instant, anchor)
        turns = 0
        while True:  # bounded: dues grow, and landings come before STEPS_MAX of them
            while sweep.has_any and (due is None or self._is_settled(sweep.nearest, due)):
                yield sweep.take(nearest_last=self.roll == "next")
                turns = 0
            if due is None:
                return
            turns += 1
            if turns > STEPS_MAX:
                raise too_costly()
            charge(1)
            lands = self.lands(due)
            start: Instant | None = due
            if lands is None:
                start = self._leap(due)
            else:
                sweep.add(due, lands)
            due = None if start is None else self.base.after(start, anchor=anchor)

    def _first_nominal(self, instant: Instant, anchor: Instant) -> Instant | None:
        """With `next`, what comes to later than `instant` may be named long before it."""
        if self.roll == "next":
            back = self.calendar.days.closed_for(self._day(instant) - _SLACK, -1)
            instant -= (back + 2 * _SLACK) * DAY
        return self.base.after(instant, anchor=anchor)

    def _is_settled(self, lands: Instant, nominal: Instant) -> bool:
        """Whether nothing from `nominal` on comes to this instant or before it."""
        return nominal > lands if self.roll == "next" else self._is_beyond(nominal, lands)

    def _is_beyond(self, nominal: Instant, best: Instant) -> bool:
        """Whether nothing from `nominal` on comes to `best` or before it, moved back."""
        day = self._day(best) + _SLACK
        return self._day(nominal) > day + self.calendar.days.closed_for(day, 1) + _SLACK

    def _leap(self, nominal: Instant) -> Instant | None:
        """From an instant that is left out, over those that must be left out as well: where nothing
        is allowed from as many days before it as it could move back to, to as many days after them
        as they could move on to. None: all to come.
        """
        forward = self.roll == "next"
        look_back, reach = (1, ROLL_DAYS_MAX) if forward else (ROLL_DAYS_MAX + _SLACK, 0)
        wall = wall_of(zone_of(self.timezone), nominal // SECOND)
        opens = self.calendar.days.opens(wall - look_back * DAY_S)
        if opens is None:
            return None
        ahead = opens // DAY_S - wall // DAY_S - reach - 2 * _SLACK
        return nominal + max(0, ahead) * DAY

    def _day(self, instant: Instant) -> int:
        return wall_of(zone_of(self.timezone), instant // SECOND) // DAY_S


class Landing(NamedTuple):
    """`nominals`: the instants of the schedule that come to `due`, the nearest of them first.
    `landed`: how many instants between the last landing and this one come to anything.
    """

    due: Instant
    nominals: list[Instant]
    landed: int = 0


class _Sweep:
    """Where instants come to, as far as they were looked at, after an instant."""

    __slots__ = ("_after", "_heap", "_landed", "_nominals")

    def __init__(self, after: Instant) -> None:
        self._after = after
        self._heap: list[Instant] = []
        self._nominals: dict[Instant, list[Instant]] = {}
        self._landed: deque[Instant] = deque()

    @property
    def has_any(self) -> bool:
        return bool(self._heap)

    @property
    def nearest(self) -> Instant:
        return self._heap[0]

    def add(self, nominal: Instant, lands: Instant) -> None:
        self._landed.append(nominal)
        if lands in self._nominals:
            self._nominals[lands].append(nominal)
        elif lands > self._after:
            self._nominals[lands] = [nominal]
            heappush(self._heap, lands)

    def take(self, *, nearest_last: bool) -> Landing:
        due = heappop(self._heap)
        named = self._nominals.pop(due)
        while self._landed and self._landed[0] <= self._after:
            self._landed.popleft()
        landed = 0
        while self._landed and self._landed[0] < due:
            self._landed.popleft()
            landed += 1
        self._after = due
        return Landing(due, named[::-1] if nearest_last else named, landed)


def too_costly() -> TooCostly:
    return TooCostly(
        f"of {STEPS_MAX} instants in a row the calendar allows none",
        hint="Compare its hours and dates with the schedule, or use a schedule with fewer "
        "instants.",
        field="calendar",
    )


def instants_a_day(schedule: Schedule) -> int:
    """How many instants a day may have at most."""
    match schedule:
        case Cron():
            fields = schedule.fields()
            times = [(fields.minutes, fields.hours), *fields.also]
            total = sum(len(minutes) * len(hours) for minutes, hours in times)
            return len(fields.seconds) * total
        case Every():
            return -(-DAY // schedule.every_us)
    return -(-DAY // schedule.step.us) if schedule.step.is_elapsed else 1
