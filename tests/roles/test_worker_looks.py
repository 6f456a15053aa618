"""Without being told, the worker looks at the queue every so often: nothing puts a look off."""

from __future__ import annotations

import asyncio

import pytest

from onthedot.core.instants import MILLISECOND, SECOND
from onthedot.roles.scheduler import SCAN_S
from onthedot.roles.worker import POLL_S
from onthedot.store.claims import Lessee
from tests.support.builders import ALL_SHARDS, PLENTY, a_one_off, a_run
from tests.support.clock import START, ManualClock
from tests.support.roles import a_stand, idle


async def test_what_is_started_meanwhile_does_not_put_off_the_next_look_at_the_queue(
    store, faulty, clock
):
    stand = await a_stand(faulty, clock)
    for ms in (500, 1_400, 2_300, 3_200):
        await a_one_off(store, clock, at=START + ms * MILLISECOND)
    until, lessee = START + 4 * SECOND, Lessee(stand.number, PLENTY)
    promoted = await store.runs.promote(
        ALL_SHARDS, until=until, lessee=lessee, limit=PLENTY, now=START
    )
    stand.worker.accept(promoted.leased)
    working = asyncio.create_task(stand.run_worker())

    await asyncio.sleep(10 * POLL_S)

    assert len(stand.runner.started) == 4
    assert faulty.calls["runs.lease"] >= 10
    working.cancel()


async def test_the_scheduler_of_an_idle_node_looks_at_the_queue_for_the_worker(
    store, faulty, clock
):
    stand = await a_stand(faulty, clock)
    loops = [asyncio.create_task(loop) for loop in (stand.run_worker(), stand.scheduler.loop.run())]
    await asyncio.sleep(2 * POLL_S)
    looked = faulty.calls["runs.lease"]

    await asyncio.sleep(10 * POLL_S)
    assert faulty.calls["runs.lease"] == looked

    await a_run(store, clock)  # nobody is told of it
    await asyncio.sleep(SCAN_S + 0.01)
    assert len(stand.runner.started) == 1
    for loop in loops:
        loop.cancel()


async def test_what_the_scheduler_sees_while_there_is_no_room_is_leased_as_soon_as_there_is(
    store, faulty, clock
):
    stand = await a_stand(faulty, clock, slots=1)
    stand.runner.hang()
    await a_run(store, clock)
    await stand.work()
    await a_run(store, clock)
    for _ in range(3):
        await stand.scheduler.step()
        await stand.work()
    assert len(stand.runner.started) == 1

    stand.runner.let_go()
    await idle()
    await stand.work_off()

    assert len(stand.runner.started) == 2


class Creeping(ManualClock):
    """Time that goes on within a step too: by a microsecond with each look at the stopwatch."""

    def monotonic(self) -> float:
        self.advance(1)
        return super().monotonic()


@pytest.mark.parametrize("early", range(20))
async def test_a_look_that_comes_due_between_two_lines_of_a_step_is_not_left_out(faulty, early):
    clock = Creeping()
    stand = await a_stand(faulty, clock)
    await stand.worker.step()
    looked = faulty.calls["runs.lease"]

    clock.advance(round(POLL_S * SECOND) - early)
    pause = await stand.worker.step()

    assert faulty.calls["runs.lease"] > looked or pause < 0.001
