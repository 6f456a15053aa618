"""Without being told, the worker looks at the queue every so often: nothing puts a look off."""

from __future__ import annotations

import asyncio

import pytest

from onthedot.core.instants import MILLISECOND, SECOND
from onthedot.roles.worker import POLL_S
from tests.support.builders import a_one_off
from tests.support.clock import START, ManualClock
from tests.support.roles import a_stand


async def test_what_is_started_meanwhile_does_not_put_off_the_next_look_at_the_queue(
    store, faulty, clock
):
    stand = await a_stand(faulty, clock)
    for ms in (500, 1_400, 2_300, 3_200):
        await a_one_off(store, clock, at=START + ms * MILLISECOND)
    loops = [
        asyncio.create_task(stand.run_worker()),
        asyncio.create_task(stand.scheduler.loop.run()),
    ]

    await asyncio.sleep(10 * POLL_S)

    assert len(stand.runner.started) == 4
    assert faulty.calls["runs.lease"] >= 10
    for loop in loops:
        loop.cancel()


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
