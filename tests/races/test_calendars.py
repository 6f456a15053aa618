"""No job follows a calendar that is gone, whoever comes first; and an edit of a calendar waits for
nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from onthedot.core.schedules import Calendar, Cron
from onthedot.errors import CalendarInUse, Invalid
from onthedot.store.calendars import CalendarView
from onthedot.store.postgres import PostgresStore
from onthedot.store.postgres.database import PostgresDatabase
from onthedot.usecases.calendars import take_over
from tests.races.stage import ALONE, Gate, HeldDatabase, LoneDatabase
from tests.support.builders import a_job
from tests.support.clock import ManualClock
from tests.support.postgres import PostgresServer, drop_database, new_database

DAILY = Cron.parse("0 9 * * *")
WEEKDAYS = Calendar.read([], ["mon-fri"])
BLOCKED = "select cardinality(pg_blocking_pids($1)) > 0"
Act = Callable[[PostgresStore], Awaitable[Any]]


@asynccontextmanager
async def a_place(
    server: PostgresServer,
) -> AsyncIterator[tuple[HeldDatabase, PostgresDatabase, PostgresDatabase]]:
    name = await new_database(server)
    held = await HeldDatabase.open(server.url(name), ALONE)
    others = [await LoneDatabase.open(server.url(name), ALONE) for _ in range(2)]
    assert isinstance(held, HeldDatabase)
    try:
        yield held, others[0], others[1]
    finally:
        for database in (held, *others):
            await database.close()
        await drop_database(server, name)


async def raced(
    place: tuple[HeldDatabase, PostgresDatabase, PostgresDatabase], first: Act, second: Act
) -> tuple[Any, Any, bool]:
    """What both say, and whether the second had to wait until the first had committed."""
    held, free, looker = place
    pid = await free.value("select pg_backend_pid()")
    gate = held.gate = Gate(1)
    one = asyncio.ensure_future(first(PostgresStore(held)))
    await gate.reached.wait()
    two = asyncio.ensure_future(second(PostgresStore(free)))
    waited = False
    while not two.done() and not waited:
        waited = await looker.value(BLOCKED, pid)
    gate.open("commit")
    said = await asyncio.gather(one, two, return_exceptions=True)
    return said[0], said[1], waited


def following(clock: ManualClock, view: CalendarView) -> Act:
    return lambda store: a_job(store, clock, schedule=DAILY, calendar=view.named)


async def test_a_delete_waits_for_a_job_that_is_about_to_follow_and_is_refused(packaged):
    clock = ManualClock()
    async with a_place(packaged) as place:
        view = await PostgresStore(place[1]).calendars.put("days", WEEKDAYS, now=clock.now())

        job, refused, waited = await raced(
            place, following(clock, view), lambda store: store.calendars.delete("days")
        )

        assert waited
        assert isinstance(refused, CalendarInUse)
        assert job.definition.calendar == view.named


async def test_a_job_waits_for_a_delete_and_is_refused(packaged):
    clock = ManualClock()
    async with a_place(packaged) as place:
        view = await PostgresStore(place[1]).calendars.put("days", WEEKDAYS, now=clock.now())

        deleted, refused, waited = await raced(
            place, lambda store: store.calendars.delete("days"), following(clock, view)
        )

        assert waited
        assert deleted is None
        assert isinstance(refused, Invalid)


async def test_an_edit_goes_ahead_of_a_job_that_follows_and_the_job_takes_it_over(packaged):
    clock = ManualClock()
    other = Calendar.read(["12-25"], [])
    async with a_place(packaged) as place:
        store = PostgresStore(place[1])
        view = await store.calendars.put("days", WEEKDAYS, now=clock.now())

        job, changed, waited = await raced(
            place,
            following(clock, view),
            lambda store: store.calendars.put("days", other, now=clock.now()),
        )
        taken_over = await take_over(store, now=clock.now())

        assert not waited
        assert (changed.version, taken_over) == (2, (1, False))
        assert (await store.jobs.get(job.id)).definition.calendar == changed.named
