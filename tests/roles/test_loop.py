"""THE loop: it steps, sleeps as told, backs off after errors, and stops between two steps."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from onthedot.errors import NodeDead, StoreUnavailable, Taken
from onthedot.roles.loop import BACKOFF_S_MAX, BACKOFF_S_MIN, SLEEP_S_MAX, Loop
from tests.support.clock import ManualClock
from tests.support.roles import idle

FOREVER = math.inf


class Steps:
    """A step that does as its script says and notes when it was taken."""

    def __init__(self, clock: ManualClock, *script: float | Exception) -> None:
        self.at: list[float] = []
        self._clock = clock
        self._script = list(script)

    async def __call__(self) -> float:
        self.at.append(round(self._clock.monotonic(), 3))
        told = self._script.pop(0) if self._script else FOREVER
        if isinstance(told, Exception):
            raise told
        return told

    def gaps(self) -> list[float]:
        return [round(b - a, 3) for a, b in zip(self.at, self.at[1:], strict=False)]


@asynccontextmanager
async def running(loop: Loop) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(loop.run())
    await idle()
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_a_loop_sleeps_as_long_as_its_step_says(clock):
    steps = Steps(clock, 0.2, 1.5, 0.001)

    async with running(Loop("l", steps, clock)):
        await asyncio.sleep(4)

    assert steps.at == [0, 0.2, 1.7, 1.701]


async def test_a_step_that_asks_for_no_pause_comes_again_at_once_and_lets_others_go_on(clock):
    steps = Steps(clock, *[0.0] * 10)
    others = 0

    async with running(Loop("l", steps, clock)):
        for _ in range(10):
            await asyncio.sleep(0)
            others += 1

    assert steps.at == [0] * 11
    assert others == 10


async def test_a_nudge_ends_the_sleep(clock):
    steps = Steps(clock, 4.0)
    loop = Loop("l", steps, clock)

    async with running(loop):
        await asyncio.sleep(1)
        loop.nudge()
        await idle()

    assert steps.at == [0, 1]


async def test_a_nudge_during_a_step_leads_to_another_step_at_once(clock):
    taken = 0

    async def step() -> float:
        nonlocal taken
        taken += 1
        if taken == 1:
            await asyncio.sleep(1)
            loop.nudge()
            await asyncio.sleep(1)
        return FOREVER

    loop = Loop("l", step, clock)
    async with running(loop):
        await asyncio.sleep(2)
        await idle()

        assert taken == 2
        assert clock.monotonic() == pytest.approx(2, abs=0.001)


async def test_many_nudges_are_one_hint(clock):
    steps = Steps(clock)
    loop = Loop("l", steps, clock)

    async with running(loop):
        for _ in range(100):
            loop.nudge()
        await idle()

    assert len(steps.at) == 2


async def test_a_loop_backs_off_twice_as_long_after_every_error_up_to_a_limit(clock):
    steps = Steps(clock, *[ValueError("broken")] * 9)

    async with running(Loop("l", steps, clock)):
        await asyncio.sleep(12)

    assert steps.gaps()[:9] == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0, 2.0]
    assert (BACKOFF_S_MIN, BACKOFF_S_MAX) == (0.05, 2.0)


async def test_a_nudge_does_not_cut_a_back_off_short(clock):
    steps = Steps(clock, *[StoreUnavailable("gone")] * 7)
    loop = Loop("l", steps, clock)

    async with running(loop):
        for _ in range(600):
            loop.nudge()
            await asyncio.sleep(0.01)

    assert steps.gaps()[:7] == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0]


async def test_a_thousand_errors_in_a_row_overflow_nothing(clock):
    steps = Steps(clock, *[ValueError("broken")] * 1_100)

    async with running(Loop("l", steps, clock)) as task:
        await asyncio.sleep(2_300)

        assert not task.done()
    assert len(steps.at) > 1_100


async def test_a_loop_that_recovers_forgets_its_trouble_and_backs_off_anew(clock):
    wrong = StoreUnavailable("gone")
    steps = Steps(clock, wrong, wrong, wrong, 1.0, wrong)
    loop = Loop("scheduler", steps, clock)

    async with running(loop):
        troubles = [loop.trouble]
        await asyncio.sleep(0.5)
        troubles.append(loop.trouble)
        await asyncio.sleep(1)

    assert troubles == ["scheduler: StoreUnavailable: gone", None]
    assert steps.gaps() == [0.05, 0.1, 0.2, 1.0, 0.05]


async def test_a_loop_knows_since_when_it_is_in_a_step_and_that_it_sleeps(clock):
    release = asyncio.Event()

    async def step() -> float:
        await release.wait()
        return FOREVER

    loop = Loop("l", step, clock)
    async with running(loop):
        await asyncio.sleep(1.0)
        during = loop.stepping_since
        release.set()
        await asyncio.sleep(1.0)
        after = loop.stepping_since

    assert during == pytest.approx(0.0, abs=0.001)
    assert after is None


@pytest.mark.parametrize(
    "error",
    [ValueError("v"), AssertionError("a"), StoreUnavailable("s"), Taken("t"), TimeoutError()],
)
async def test_no_error_of_a_step_ends_its_loop(clock, error):
    steps = Steps(clock, error)

    async with running(Loop("l", steps, clock)) as task:
        await asyncio.sleep(0.1)

        assert not task.done()
    assert len(steps.at) == 2


async def test_only_the_death_of_the_node_gets_out(clock):
    loop = Loop("l", Steps(clock, NodeDead("node 7 was declared dead")), clock)

    with pytest.raises(NodeDead, match="node 7"):
        await loop.run()


async def test_stop_lets_the_step_under_way_end_and_takes_no_other(clock):
    ended: list[float] = []

    async def step() -> float:
        await asyncio.sleep(1)
        ended.append(clock.monotonic())
        return 0.0

    loop = Loop("l", step, clock)
    async with running(loop) as task:
        loop.stop()
        await idle()
        assert not task.done()
        await task

    assert ended == [pytest.approx(1, abs=0.001)]


async def test_stop_ends_a_sleep_at_once(clock):
    loop = Loop("l", Steps(clock, FOREVER), clock)

    async with running(loop) as task:
        loop.stop()
        await task

    assert clock.monotonic() == 0


async def test_stop_ends_a_back_off_at_once(clock):
    loop = Loop("l", Steps(clock, *[ValueError("broken")] * 9), clock)

    async with running(loop) as task:
        await asyncio.sleep(4)
        loop.stop()
        await task

    assert clock.monotonic() == pytest.approx(4, abs=0.001)


async def test_a_loop_that_was_stopped_before_it_began_takes_no_step(clock):
    steps = Steps(clock)
    loop = Loop("l", steps, clock)
    loop.stop()

    await loop.run()

    assert steps.at == []


@pytest.mark.parametrize("told", [5.1, 3600.0, FOREVER])
async def test_nobody_sleeps_longer_than_five_seconds_whatever_a_step_says(clock, told):
    steps = Steps(clock, told)

    async with running(Loop("l", steps, clock)):
        await asyncio.sleep(5.5)

    assert steps.at == [0, SLEEP_S_MAX]
