"""Jobs that code declares: a second start with the same code changes nothing."""

from __future__ import annotations

import pytest

from onthedot.core.instants import DAY
from onthedot.core.model import Job
from onthedot.store.contract import Store
from onthedot.usecases.declaring import declare
from tests.support.clock import ManualClock


async def declared(store: Store, clock: ManualClock, schedule: str) -> Job:
    job = {"name": "f", "key": "f", "handler": "f", "schedule": schedule}
    await declare(store, [job], app="shop:app", clock=clock)
    found = await store.jobs.keyed("default", "f")
    assert found is not None
    return found


@pytest.mark.parametrize(
    "schedule",
    ["P1M", "every 2 weeks on monday at 9:00", "every weekday at 9am", "every 5 minutes"],
)
async def test_a_restart_keeps_the_instant_that_a_schedule_is_counted_from(
    store: Store, clock: ManualClock, schedule: str
) -> None:
    first = await declared(store, clock, schedule)
    clock.advance(5 * DAY)
    second = await declared(store, clock, schedule)
    changed = await declared(store, clock, "every 7 minutes")

    assert second == first
    assert (changed.version, changed.definition.schedule_text) == (2, "every 7 minutes")
