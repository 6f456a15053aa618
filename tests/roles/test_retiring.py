"""A call that does not end when it is asked to: its runner takes no new call, the others in there
have their time, and a function that has to be killed repeatedly runs alone.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from onthedot.core.instants import SECOND
from onthedot.core.killers import ALONE_MAX, ASKED_S, RETIRING_S, TRUSTED_AFTER
from onthedot.core.states import Status
from onthedot.roles.runners.functions import RETIRING_MIN, STUCK_S
from onthedot.roles.runners.pools import REVIEW_S
from onthedot.roles.runners.watching import SILENT_S
from onthedot.wire.pipe import CallEnded
from tests.roles.test_suspects import (
    DEADLY,
    HARMLESS,
    LONG,
    START_S,
    STUCK,
    STUCK_TOO,
    Processes,
    at_work,
    ended,
    runs_of,
)
from tests.support.roles import Stand, until

TIMEOUT_S = 2
SOON_S = 0.5
KILLED_S = TIMEOUT_S + ASKED_S + REVIEW_S + SOON_S
"""After its start a call that does not end has been killed."""


@pytest.fixture
def processes() -> Processes:
    return Processes()


@pytest.fixture
async def stand(store, clock, processes) -> AsyncIterator[Stand]:
    async with at_work(store, clock, processes) as stand:
        yield stand


Calls = Callable[..., Awaitable[None]]


@pytest.fixture
def call(store, clock, processes: Processes, stand: Stand) -> Calls:
    """Calls a function so many times, and waits until it has begun."""

    async def called(function: str, count: int = 1, **fields: Any) -> None:
        before = len(processes.starts(function))
        await runs_of(store, clock, function, count, **{"timeout_us": TIMEOUT_S * SECOND} | fields)
        stand.worker.look()
        await until(lambda: len(processes.starts(function)) >= before + count)

    return called


async def a_killed_call(call: Calls) -> None:
    await call(STUCK)
    await asyncio.sleep(KILLED_S)


# The runner


async def test_a_runner_with_a_call_past_its_timeout_takes_no_new_call(processes, stand, call):
    await call(STUCK)
    await asyncio.sleep(TIMEOUT_S + STUCK_S + START_S + SOON_S)

    await call(HARMLESS)

    (_, stuck_in), (_, other) = processes.places
    assert stuck_in in processes.living
    assert other is not stuck_in


async def test_a_call_that_ends_when_it_is_asked_to_keeps_its_runner(processes, stand, call):
    await call(LONG, timeout_us=SECOND)
    await asyncio.sleep(1.5 + STUCK_S)

    await call(HARMLESS)

    assert [each.error for each in stand.outcomes] == ["timed out after 1 s", None]
    assert len({place for _, place in processes.places}) == 1
    assert len(processes.living) == 1


async def test_a_runner_is_killed_when_only_calls_that_do_not_end_are_in_it(processes, stand, call):
    await a_killed_call(call)

    assert processes.deaths == [[STUCK]]
    assert [each.error for each in stand.outcomes] == ["timed out after 2 s"]
    assert len(processes.living) == 1


async def test_its_other_calls_end_in_it_and_are_not_made_again(processes, stand, call):
    processes.lasting[LONG] = 20.0
    await call(STUCK)
    await call(LONG, timeout_us=30 * SECOND)
    await asyncio.sleep(22)

    assert len(processes.starts(LONG)) == 1
    assert len({place for _, place in processes.places}) == 1
    assert Counter(each.status for each in stand.outcomes) == {
        Status.SUCCEEDED: 1,
        Status.FAILED: 1,
    }
    assert processes.deaths == [[STUCK]]


async def test_a_call_that_takes_longer_than_that_is_made_again_in_the_same_attempt(
    processes, stand, call
):
    processes.lasting[LONG] = RETIRING_S + 20
    await call(STUCK)
    await call(LONG, timeout_us=1000 * SECOND)
    await asyncio.sleep(2 * RETIRING_S + 60)

    assert processes.deaths == [[LONG, STUCK]]
    assert len(processes.starts(LONG)) == 2
    [long] = [each for each in stand.outcomes if each.status is Status.SUCCEEDED]
    assert long.attempt == 1


async def test_where_no_runner_answers_one_more_takes_the_new_calls(processes, stand, call):
    processes.lasting[LONG] = 30.0
    await call(LONG, timeout_us=100 * SECOND)
    [silent] = processes.living
    silent.beats = True  # it has answered before
    await asyncio.sleep(3 * SILENT_S)

    await call(HARMLESS)

    (_, first), (_, other) = processes.places
    assert first is silent
    assert other is not silent
    await asyncio.sleep(30)
    assert [each.status for each in stand.outcomes] == [Status.SUCCEEDED] * 2
    assert len(processes.starts(LONG)) == 1
    assert silent not in processes.living, "it has left once nobody was in it"


async def test_calls_that_had_not_begun_are_made_in_another_runner(processes, stand, call):
    processes.lasting[LONG] = 1000.0
    processes.given_back.add(LONG)
    await call(STUCK)
    await call(LONG, timeout_us=20 * SECOND)
    processes.lasting.clear()
    await asyncio.sleep(TIMEOUT_S + STUCK_S + 3)

    assert len(processes.starts(LONG)) == 2
    assert [each.status for each in stand.outcomes] == [Status.SUCCEEDED]


async def test_no_more_than_so_many_runners_are_retiring(processes, stand, call):
    processes.lasting[LONG] = 40.0
    for function in STUCK_TOO:
        await call(function)
        await call(LONG, timeout_us=100 * SECOND)
        await asyncio.sleep(TIMEOUT_S + STUCK_S + SOON_S)
        assert len(processes.living) <= RETIRING_MIN + 2
    await asyncio.sleep(90)

    assert len(processes.starts(LONG)) > len(STUCK_TOO), "some were called again"
    assert Counter(each.status for each in stand.outcomes) == {
        Status.SUCCEEDED: len(STUCK_TOO),
        Status.FAILED: len(STUCK_TOO),
    }


async def test_a_worker_that_stood_still_listens_before_it_kills(clock, processes, stand, call):
    await call(STUCK)
    await asyncio.sleep(TIMEOUT_S + STUCK_S / 2)
    [child] = processes.living
    [number] = child.under_way

    clock.advance(30 * SECOND)
    asyncio.get_running_loop().call_later(0.1, child._say, CallEnded(number, stopped=True))
    await asyncio.sleep(ASKED_S)

    assert processes.deaths == []
    assert processes.living == {child}
    assert [each.error for each in stand.outcomes] == ["timed out after 2 s"]


# The function


async def test_a_function_that_had_to_be_killed_twice_runs_alone(processes, stand, call):
    for _ in range(2):
        await a_killed_call(call)
    await call(HARMLESS)
    await call(STUCK)
    shared = processes.places[-2][1]

    assert STUCK in stand.attempts.stuck
    assert processes.places[-1][1] is not shared
    await asyncio.sleep(TIMEOUT_S + SOON_S)
    assert len(processes.living) == 1, "it was killed as soon as its time was over"
    assert "runs alone" in (stand.outcomes[-1].error or "")
    assert "runs alone" not in (stand.outcomes[0].error or "")


async def test_functions_that_run_alone_do_not_wait_for_those_that_do_not_end(
    processes, stand, call
):
    for _ in range(2):
        await a_killed_call(call)
    await call(STUCK, 2, timeout_us=100 * SECOND)
    before = len(stand.outcomes)

    await call(DEADLY)
    await ended(stand, before + 1)

    assert "quarantined" in (stand.outcomes[-1].error or "")


async def test_functions_that_do_not_end_share_ten_processes_and_one_slot(
    store, clock, processes, stand, call
):
    for function in (STUCK, STUCK_TOO[0]):
        for _ in range(2):
            await call(function)
            await asyncio.sleep(KILLED_S)
    before = len(processes.called)

    for function in (STUCK, STUCK_TOO[0]):
        await runs_of(store, clock, function, ALONE_MAX, timeout_us=100 * SECOND)
    stand.worker.look()
    await asyncio.sleep(5)

    called = Counter(name for name, _ in processes.called[before:])
    assert called == {STUCK: ALONE_MAX // 2, STUCK_TOO[0]: ALONE_MAX // 2}
    assert stand.holding.free_slots == stand.holding.slots - 1


async def test_it_is_trusted_after_so_many_calls_in_a_row_that_end(processes, stand, call):
    for _ in range(2):
        await a_killed_call(call)
    processes.mended = True

    for _ in range(TRUSTED_AFTER - 1):
        await call(STUCK)
        await asyncio.sleep(SOON_S)
    assert STUCK in stand.attempts.deadly
    await call(STUCK)
    await asyncio.sleep(SOON_S)

    assert not stand.attempts.deadly
    assert not stand.attempts.stuck


async def test_a_cancelled_call_that_does_not_end_counts_as_well(processes, stand, call):
    for _ in range(2):
        await call(STUCK, timeout_us=1000 * SECOND)
        [key] = stand.holding.under_way
        stand.attempts.cancel_attempt(key, "cancelled")
        await asyncio.sleep(ASKED_S + 1)

    assert [each.status for each in stand.outcomes] == [Status.CANCELLED] * 2
    assert STUCK in stand.attempts.stuck


# What may start at most once


@pytest.mark.parametrize("other", [STUCK, DEADLY])
async def test_what_may_start_once_is_not_lost_with_a_plain_function(processes, stand, call, other):
    processes.lasting[LONG] = 100.0
    await call(LONG, guarantee="at_most_once", timeout_us=200 * SECOND)
    await call(other)
    await asyncio.sleep(150)

    assert Status.LOST not in {each.status for each in stand.outcomes}
    assert Status.SUCCEEDED in {each.status for each in stand.outcomes}
    assert len(processes.starts(LONG)) == 1
