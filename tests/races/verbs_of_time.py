"""The verbs that move what is due, or run it after all: calendars, zones, backfills."""

from __future__ import annotations

from typing import Any

from onthedot.core import editing
from onthedot.core.backfilling import BackfillOptions
from onthedot.core.editing import Change, CurrentJob
from onthedot.core.schedules import Calendar, zones
from onthedot.store.postgres import PostgresStore
from tests.races.world import DUBAI, FIVE_MINUTES_OFF, PERIOD, World

SOME = 10


async def follow(store: PostgresStore, world: World) -> Any:
    """A calendar is changed, and the job takes it over."""
    view = await store.calendars.put("days", Calendar.read(["2100-01-01"], []), now=world.now)

    def decide(current: CurrentJob) -> Change:
        return editing.edit(current, current.job.definition._replace(calendar=view.named))

    return await store.jobs.remake({world.job.id: decide}, now=world.now)


async def backfill(store: PostgresStore, world: World) -> Any:
    """Begun and carried on: its runs are made, and go with the job if that is deleted."""
    dues = [world.now - k * PERIOD // 7 for k in (1, 2)]
    begun = await store.backfills.begin(world.job.id, dues, BackfillOptions(), now=world.now)
    await store.backfills.advance(limit=SOME, now=world.now)
    return begun


async def advance_backfills(store: PostgresStore, world: World) -> Any:
    return await store.backfills.advance(limit=SOME, now=world.now)


async def remake(store: PostgresStore, world: World) -> Any:
    """By a node with the new release, in whose process the others act, too."""
    zones.prefer({DUBAI: FIVE_MINUTES_OFF})
    try:
        return await store.zones.remake(limit=SOME, now=world.now)
    finally:
        zones.prefer({})
