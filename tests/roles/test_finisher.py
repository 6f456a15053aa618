"""The finisher writes outcomes in groups, loses none, and lets no bad one stop the others."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from onthedot.core.instants import SECOND
from onthedot.core.outcomes import Result
from onthedot.core.states import Status
from onthedot.errors import NodeDead, StoreFull, StoreUnavailable
from onthedot.roles.finisher import GROUP_MAX, IDLE_S
from tests.support.builders import (
    Named,
    a_job,
    a_node,
    key_of,
    kill,
    lease,
    some_runs,
    status_of,
    succeeded,
    view,
)
from tests.support.clock import START
from tests.support.roles import Failing, Fault, Stand, Stuck, a_stand


async def ended_attempts(store, clock, stand: Stand, count: int, **fields: Any):
    """So many attempts that have ended and whose outcomes are still to be written."""
    runs = await some_runs(store, clock, count, await a_job(store, clock, **fields))
    stand.worker.look()
    for _ in range(3):
        await stand.work()
    assert stand.finisher.pending >= count
    return runs


def choking_on(*culprits: Named) -> Fault:
    """A store that cannot take an outcome of these runs unless it is the bare end."""
    keys = {key_of(run) for run in culprits}

    async def finish(verb: Fault, node: int, outcomes: Any, **kwargs: Any) -> Any:
        for outcome in outcomes:
            if key_of(outcome) in keys and outcome.reason != "unrecordable":
                raise ValueError(f"cannot bind {outcome.output!r}")
        return await verb(node, outcomes, **kwargs)

    return finish


async def statuses(store, clock, runs) -> list[Status]:
    return [await status_of(store, clock, run) for run in runs]


# Groups


async def test_outcomes_that_came_in_together_are_written_together(store, faulty, clock):
    stand = await a_stand(faulty, clock, slots=50)
    runs = await ended_attempts(store, clock, stand, 50)

    pause = await stand.finisher.step()

    assert (faulty.calls["runs.finish"], pause) == (1, IDLE_S)
    assert await statuses(store, clock, runs) == [Status.SUCCEEDED] * 50
    assert stand.holding.held() == set()


async def test_outcomes_that_come_in_while_a_group_is_written_are_the_next_group(
    store, faulty, clock
):
    stand = await a_stand(faulty, clock)
    early = await ended_attempts(store, clock, stand, 2)
    writing = Stuck()
    faulty.on("runs.finish", writing)
    step = asyncio.create_task(stand.finisher.step())
    await writing.reached.wait()

    late = await ended_attempts(store, clock, stand, 3)
    writing.go.set()
    pause = await step

    assert pause == 0.0
    assert stand.finisher.pending == 3
    await stand.finisher.step()
    assert await statuses(store, clock, early + late) == [Status.SUCCEEDED] * 5


async def test_a_group_is_bounded(store, faulty, clock):
    stand = await a_stand(faulty, clock)
    [held] = await ended_attempts(store, clock, stand, 1)
    for _ in range(GROUP_MAX):
        stand.finisher.add(stand.outcomes[0])
    sizes: list[int] = []

    async def measuring(verb: Fault, node: int, outcomes: Any, **kwargs: Any) -> Any:
        sizes.append(len(outcomes))
        return await verb(node, outcomes, **kwargs)

    faulty.on("runs.finish", measuring)
    pauses = [await stand.finisher.step(), await stand.finisher.step()]

    assert (sizes, pauses) == ([GROUP_MAX, 1], [0.0, IDLE_S])
    assert await status_of(store, clock, held) is Status.SUCCEEDED


async def test_a_finisher_with_nothing_to_write_does_not_ask_the_store(faulty, clock):
    stand = await a_stand(faulty, clock)

    pause = await stand.finisher.step()

    assert (pause, faulty.calls["runs.finish"]) == (IDLE_S, 0)


async def test_a_run_stays_ours_until_its_outcome_is_written(store, faulty, clock):
    stand = await a_stand(faulty, clock)
    [run] = await ended_attempts(store, clock, stand, 1)
    faulty.on("runs.finish", Failing(StoreUnavailable("gone"), times=1))

    with pytest.raises(StoreUnavailable):
        await stand.finisher.step()
    held = {(job, run) for job, run, _ in stand.holding.held()}
    await stand.finisher.step()

    assert held == {run}
    assert stand.holding.held() == set()


# A store that is away


@pytest.mark.parametrize("error", [StoreUnavailable("gone"), StoreFull("the disk is full")])
async def test_outcomes_are_kept_while_the_store_is_away_and_written_later(
    store, faulty, clock, error
):
    stand = await a_stand(faulty, clock)
    runs = await ended_attempts(store, clock, stand, 3)
    faulty.on("runs.finish", Failing(error, times=2))

    for _ in range(2):
        with pytest.raises(type(error)):
            await stand.finisher.step()
    kept = stand.finisher.pending
    await stand.finisher.step()

    assert kept == 3
    assert await statuses(store, clock, runs) == [Status.SUCCEEDED] * 3
    assert (stand.finisher.stale, stand.finisher.repeated) == (0, 0)


async def test_an_outcome_whose_answer_was_lost_is_written_once_and_counted_as_repeated(
    store, faulty, clock
):
    stand = await a_stand(faulty, clock)
    [run] = await ended_attempts(store, clock, stand, 1)
    faulty.on("runs.finish", Failing(StoreUnavailable("cut off"), times=1, after=True))

    with pytest.raises(StoreUnavailable):
        await stand.finisher.step()
    await stand.finisher.step()

    assert (stand.finisher.repeated, stand.finisher.stale) == (1, 0)
    assert len((await store.ledger.story(*run, now=clock.now())).attempts) == 1
    assert stand.finisher.pending == 0


async def test_nothing_of_a_dead_node_is_written(store, clock):
    stand = await a_stand(store, clock)
    [run] = await ended_attempts(store, clock, stand, 1)
    await kill(store, clock, stand.number)

    with pytest.raises(NodeDead):
        await stand.finisher.step()

    assert await status_of(store, clock, run) is not Status.SUCCEEDED


async def test_what_a_dead_node_had_still_to_say_is_counted_as_stale(store, clock, caplog):
    stand = await a_stand(store, clock)
    await ended_attempts(store, clock, stand, 3)
    await kill(store, clock, stand.number)
    with pytest.raises(NodeDead):
        await stand.finisher.step()

    stand.finisher.refused()
    stand.finisher.refused()

    assert (stand.finisher.stale, stand.finisher.repeated, stand.finisher.pending) == (3, 0, 0)
    assert caplog.messages == [f"run.stale node={stand.number} count=3"]
    assert stand.holding.held() == set()


async def test_an_outcome_of_a_run_that_somebody_else_has_taken_is_counted_as_stale(store, clock):
    stand, other = await a_stand(store, clock), await a_node(store, clock)
    taken, kept = await ended_attempts(store, clock, stand, 2)
    refs = [ref for ref in await store.runs.owned(stand.number) if key_of(ref) == taken]
    await store.runs.release(stand.number, refs, now=clock.now())
    [theirs] = await lease(store, clock, other)

    await stand.finisher.step()

    assert (stand.finisher.stale, stand.finisher.repeated) == (1, 0)
    assert await status_of(store, clock, kept) is Status.SUCCEEDED
    done = await store.runs.finish(other, [succeeded(theirs, clock)], now=clock.now())
    assert done.accepted == 1


# Outcomes that cannot be written


@pytest.mark.parametrize("place", [0, 1, 4, 6])
async def test_the_culprit_of_a_group_ends_failed_and_its_neighbours_are_written(
    store, faulty, clock, place
):
    stand = await a_stand(faulty, clock)
    runs = await ended_attempts(store, clock, stand, 7)
    culprit = runs.pop(place)
    faulty.on("runs.finish", choking_on(culprit))

    await stand.finisher.step()

    assert await statuses(store, clock, runs) == [Status.SUCCEEDED] * 6
    seen = await view(store, clock, culprit)
    assert (seen.status, seen.reason) == (Status.FAILED, "unrecordable")
    assert seen.error == "unrecordable: ValueError: cannot bind 'done'"
    assert stand.finisher.pending == 0
    assert stand.holding.held() == set()


async def test_several_culprits_are_all_found(store, faulty, clock):
    stand = await a_stand(faulty, clock)
    runs = await ended_attempts(store, clock, stand, 10)
    faulty.on("runs.finish", choking_on(*runs[::3]))

    await stand.finisher.step()

    failed = [run for run in runs if await status_of(store, clock, run) is Status.FAILED]
    assert failed == runs[::3]
    assert {await status_of(store, clock, run) for run in runs} == {
        Status.FAILED,
        Status.SUCCEEDED,
    }


async def test_a_culprit_that_would_have_been_retried_is_not(store, faulty, clock):
    stand = await a_stand(faulty, clock)
    stand.runner.answer(Result(error="HTTP 500"))
    [run] = await ended_attempts(store, clock, stand, 1, retries=5)
    faulty.on("runs.finish", choking_on(run))

    await stand.finisher.step()

    assert await status_of(store, clock, run) is Status.FAILED
    assert stand.retries == []


async def test_an_outcome_that_cannot_be_written_at_all_does_not_block_the_others(
    store, faulty, clock
):
    stand = await a_stand(faulty, clock)
    runs = await ended_attempts(store, clock, stand, 5)
    culprit = runs.pop(2)

    async def choking(verb: Fault, node: int, outcomes: Any, **kwargs: Any) -> Any:
        if any(key_of(outcome) == culprit for outcome in outcomes):
            raise ValueError("never")
        return await verb(node, outcomes, **kwargs)

    faulty.on("runs.finish", choking)
    pause = await stand.finisher.step()

    assert (pause, stand.finisher.pending) == (IDLE_S, 0)
    assert await statuses(store, clock, runs) == [Status.SUCCEEDED] * 4


async def test_a_run_whose_outcome_was_given_up_is_given_back_by_reconciliation(
    store, faulty, clock
):
    stand, other = await a_stand(faulty, clock), await a_node(store, clock)
    [run] = await ended_attempts(store, clock, stand, 1)
    faulty.on("runs.finish", Failing(ValueError("never")))
    await stand.finisher.step()

    await stand.reconciler.reconcile()
    clock.advance(2 * SECOND)
    await stand.reconciler.reconcile()

    [back] = await lease(store, clock, other)
    assert key_of(back) == run


async def test_a_store_that_goes_away_while_the_culprit_is_sought_loses_nothing(
    store, faulty, clock
):
    stand = await a_stand(faulty, clock)
    runs = await ended_attempts(store, clock, stand, 8)
    choking = choking_on(runs[5])
    calls = 0

    async def finish(verb: Fault, *args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise StoreUnavailable("gone")
        return await choking(verb, *args, **kwargs)

    faulty.on("runs.finish", finish)
    with pytest.raises(StoreUnavailable):
        await stand.finisher.step()
    await stand.finisher.step()

    found = await statuses(store, clock, runs)
    assert found == [Status.SUCCEEDED] * 5 + [Status.FAILED] + [Status.SUCCEEDED] * 2
    assert stand.finisher.stale == 0


# Hints


async def test_the_earliest_retry_of_a_group_is_passed_on_as_a_hint(store, clock):
    stand = await a_stand(store, clock)
    stand.runner.answer(Result(error="HTTP 500"), Result(error="HTTP 500"))
    await ended_attempts(store, clock, stand, 3)

    await stand.finisher.step()

    assert stand.retries == [START + 750_000]  # half of a second, and half of the rest by chance


async def test_a_group_without_a_retry_gives_no_hint(store, clock):
    stand = await a_stand(store, clock)
    await ended_attempts(store, clock, stand, 1)

    await stand.finisher.step()

    assert stand.retries == []


async def test_a_worker_that_ends_many_attempts_a_second_has_room_for_more(store, clock):
    stand = await a_stand(store, clock, slots=10)
    before = stand.room()
    await ended_attempts(store, clock, stand, 10)

    busy = stand.room()
    clock.advance(2 * SECOND)

    assert (before, busy) == (10, 30)
    assert stand.room() == 10
