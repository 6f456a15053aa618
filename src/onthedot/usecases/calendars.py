"""Calendars and the jobs that follow them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from onthedot.core.editing import Change, CurrentJob
from onthedot.core.effort import DECISION_MAX, spent
from onthedot.core.instants import Instant
from onthedot.core.model import NamedCalendar
from onthedot.errors import NotFound
from onthedot.store.calendars import Behind
from onthedot.store.contract import Store

GROUP_MAX: Final = 50
"""So many jobs take over a calendar in one transaction: claims of their shards wait for it."""

GROUP_STEPS_MAX: Final = 5 * DECISION_MAX


async def named(store: Store, name: object) -> NamedCalendar | None:
    """The calendar of this name, if a request has one at all and there is one so called."""
    if not isinstance(name, str):
        return None
    with suppress(NotFound):
        return (await store.calendars.get(name)).named
    return None


async def take_over(store: Store, *, now: Instant) -> tuple[int, bool]:
    """Let jobs that are behind take their calendars over, a group of them; how many have, and
    whether there are more.
    """
    behind = await store.calendars.behind(limit=GROUP_MAX)
    if not behind:
        return 0, False
    group = _Group()
    made = await store.jobs.remake({each.job: group.unless_late(each) for each in behind}, now=now)
    return len(made), bool(made) and (len(behind) == GROUP_MAX or len(made) < len(behind))


class _Group:
    """Jobs that take over a calendar in one transaction, as far as its steps reach: the others stay
    behind, for the next.
    """

    def __init__(self) -> None:
        self._used = 0

    def unless_late(self, behind: Behind) -> Callable[[CurrentJob], Change | None]:
        def decide(current: CurrentJob) -> Change | None:
            if self._used > GROUP_STEPS_MAX:
                return None
            begun = spent()
            try:
                return behind.decide(current)
            finally:
                self._used += spent() - begun

        return decide
