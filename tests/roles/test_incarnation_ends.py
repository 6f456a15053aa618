"""One incarnation of a node either drains without a trace or dies and changes nothing more."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from onthedot.core.instants import DAY, MILLISECOND, SECOND
from onthedot.core.states import Status
from onthedot.errors import NodeDead, StoreUnavailable
from onthedot.roles.incarnation import DRAIN_S, join
from tests.support.builders import (
    RunKey,
    a_held_run,
    a_job,
    a_node,
    a_one_off,
    a_run,
    every,
    key_of,
    kill,
    lease,
    some_runs,
    status_of,
    view,
)
from tests.support.clock import START
from tests.support.roles import (
    Failing,
    Stuck,
    a_kit,
    deaths,
    id_of,
    ids_of,
    living,
    until,
)

# Draining


async def test_a_drain_burns_nothing_and_leaves_no_lease_behind(store, clock):
    for _ in range(20):
        await a_job(store, clock, schedule=every(1))
    await some_runs(store, clock, 30)
    async with living(store, clock, slots=5, grace_us=SECOND) as node:
        node.runner.hang()
        await asyncio.sleep(1.8)
        await node.drained()

    assert await store.runs.owned(node.number) == []
    assert await deaths(store) == {node.number: True}
    other = await a_node(store, clock)
    clock.advance(2 * SECOND)
    left = await lease(store, clock, other)
    assert {(run.attempt, run.rescues) for run in left} == {(1, 0)}
    assert set(node.runner.aborted) <= set(ids_of(left))


async def test_a_drain_ends_as_soon_as_the_last_attempt_has_ended(store, clock):
    run = await a_run(store, clock)
    async with living(store, clock, grace_us=60 * SECOND) as node:
        node.runner.hang()
        await until(lambda: node.runner.under_way == 1)
        asyncio.get_running_loop().call_later(5, node.runner.let_go)
        before = clock.monotonic()
        await node.drained()

    assert clock.monotonic() - before == pytest.approx(5, abs=0.1)
    assert await status_of(store, clock, run) is Status.SUCCEEDED


async def test_a_drain_writes_every_outcome_although_the_store_is_away_for_a_while(
    store, faulty, clock
):
    runs = await some_runs(store, clock, 5)
    async with living(faulty, clock) as node:
        faulty.on("runs.finish", Failing(StoreUnavailable("gone")))
        await until(lambda: len(node.runner.calls) == 5)
        asyncio.get_running_loop().call_later(2, faulty.heal)
        await node.drained()

    assert [await status_of(store, clock, run) for run in runs] == [Status.SUCCEEDED] * 5


async def test_a_drain_does_not_wait_for_ever_for_a_store_that_lets_every_call_hang(
    store, faulty, clock
):
    async def hang(verb: Any, *args: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(15)
        raise StoreUnavailable("no answer")

    await a_run(store, clock)
    async with living(faulty, clock, grace_us=SECOND) as node:
        faulty.on("runs.finish", hang)
        await until(lambda: node.incarnation.outcomes > 0)
        began = clock.monotonic()
        await node.drained()

    # A step under way, the end of that one, and one try more: each is a call that hangs.
    assert clock.monotonic() - began <= 3 * 15 + 5


async def test_a_drain_ends_although_a_call_of_the_store_never_does(store, faulty, clock):
    async def never(verb: Any, *args: Any, **kwargs: Any) -> Any:
        await asyncio.Event().wait()

    await a_run(store, clock)
    async with living(faulty, clock, grace_us=SECOND) as node:
        faulty.on("runs.finish", never)
        await until(lambda: node.incarnation.outcomes > 0)
        began = clock.monotonic()
        await node.drained()

    assert clock.monotonic() - began <= 1 + DRAIN_S + 1


@pytest.mark.parametrize("verb", ["clock.fire", "runs.promote", "runs.lease"])
async def test_a_claim_under_way_when_the_drain_begins_is_given_back(store, faulty, clock, verb):
    await a_job(store, clock, schedule=every(1))
    await a_one_off(store, clock, at=START + SECOND)
    await a_run(store, clock)
    answer = Stuck(after=True)
    faulty.on(verb, answer)
    async with living(faulty, clock) as node:
        await answer.reached.wait()
        node.stop.set()
        await asyncio.sleep(0.1)
        answer.go.set()
        await node.drained()

    assert await store.runs.owned(node.number) == []


async def test_an_attempt_ends_in_its_grace_although_the_store_fails_while_draining(
    store, faulty, clock
):
    run = await a_run(store, clock)
    async with living(faulty, clock, grace_us=10 * SECOND) as node:
        node.runner.hang()
        await until(lambda: node.runner.under_way == 1)
        await a_one_off(store, clock, at=clock.now() + 900 * MILLISECOND)
        await asyncio.sleep(0.5)
        faulty.on("runs.release", Failing(StoreUnavailable("gone"), times=1))
        asyncio.get_running_loop().call_later(2, node.runner.let_go)
        await node.drained()

    assert node.runner.aborted == []
    assert await status_of(store, clock, run) is Status.SUCCEEDED


async def test_no_task_outlives_its_incarnation(store, clock):
    await some_runs(store, clock, 3)
    async with living(store, clock, grace_us=0) as node:
        node.runner.hang()
        await until(lambda: node.runner.under_way == 3)
        await node.drained()

    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_an_incarnation_that_is_cancelled_stops_its_attempts(store, clock):
    run = await a_run(store, clock)
    async with living(store, clock) as node:
        node.runner.hang()
        await until(lambda: node.runner.under_way == 1)

    assert node.runner.aborted == [id_of(run)]
    assert asyncio.all_tasks() == {asyncio.current_task()}


# Dying


async def test_one_that_is_alone_buries_every_earlier_node_and_takes_its_runs(store, clock):
    earlier = await a_node(store, clock)
    held = await a_held_run(store, clock, earlier)

    async with living(store, clock, alone=True) as node:
        assert await deaths(store) == {earlier: True, node.number: False}
        await asyncio.sleep(1)

    seen = await view(store, clock, held)
    assert (seen.status, seen.rescues) == (Status.SUCCEEDED, 1)
    assert clock.now() < START + 2 * SECOND


async def test_one_that_is_not_alone_buries_nobody_when_it_joins(store, clock):
    earlier = await a_node(store, clock)

    incarnation = await join(a_kit(store, clock))

    assert await deaths(store) == {earlier: False, incarnation.member.number: False}


async def test_a_node_found_dead_raises_it_and_stops_its_attempts(store, clock):
    run = await a_run(store, clock)
    async with living(store, clock) as node:
        node.runner.hang()
        await until(lambda: node.runner.under_way == 1)
        await kill(store, clock, node.number)

        assert node.task is not None
        with pytest.raises(NodeDead):
            await node.task

    assert node.runner.aborted == [id_of(run)]
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_node_found_dead_while_it_drains_raises_it_too(store, clock):
    run = await a_run(store, clock, await a_job(store, clock, timeout_us=DAY))
    async with living(store, clock, grace_us=60 * SECOND) as node:
        node.runner.hang()
        await until(lambda: node.runner.under_way == 1)
        node.stop.set()
        await asyncio.sleep(1)
        await kill(store, clock, node.number)
        began = clock.monotonic()

        assert node.task is not None
        with pytest.raises(NodeDead):
            await node.task

    assert node.runner.aborted == [id_of(run)]
    assert clock.monotonic() - began < 10  # its run is somebody else's: nothing to wait for


async def test_what_a_dead_incarnation_did_is_refused_and_its_run_is_run_by_another(
    store, clock, caplog
):
    run = await a_run(store, clock)
    async with living(store, clock, roles=("worker",)) as dead:
        dead.runner.hang()
        await until(lambda: dead.runner.under_way == 1)
        await kill(store, clock, dead.number)
        dead.runner.let_go()  # it succeeds, and nobody may believe it
        async with living(store, clock) as alive:
            await asyncio.sleep(4)

    [attempt] = (await store.ledger.story(*run, now=clock.now())).attempts
    assert (dead.runner.runs, alive.runner.runs) == ([id_of(run)], [id_of(run)])
    assert attempt.status is Status.SUCCEEDED
    assert (await view(store, clock, run)).rescues == 1
    assert f"run.stale node={dead.number} count=1" in caplog.messages


async def test_an_incarnation_that_drains_counts_nothing_as_stale(store, clock, caplog):
    await some_runs(store, clock, 3)
    async with living(store, clock) as node:
        await until(lambda: len(node.runner.calls) == 3)
        await node.drained()

    assert [message for message in caplog.messages if message.startswith("run.stale")] == []


async def test_the_next_incarnation_has_a_new_number_and_goes_on(store, clock):
    kit = a_kit(store, clock)
    first = await join(kit)
    await kill(store, clock, first.member.number)
    with pytest.raises(NodeDead):
        await first.run(asyncio.Event(), grace_us=0)
    run = await a_run(store, clock)

    async with living(store, clock, runner=kit.runner) as second:
        await asyncio.sleep(1)

    assert second.number > first.member.number
    assert await status_of(store, clock, run) is Status.SUCCEEDED


async def test_a_node_that_froze_past_its_lease_starts_nothing_that_was_taken_from_it(store, clock):
    job = await a_one_off(store, clock, at=START + SECOND)
    async with living(store, clock) as frozen:
        await asyncio.sleep(0.5)
        [held] = await store.runs.owned(frozen.number)
        clock.advance(30 * SECOND)  # it stands still; others have declared it dead meanwhile
        await kill(store, clock, frozen.number)
        await store.runs.rescue(limit=10, now=clock.now())
        await asyncio.sleep(5)

        assert frozen.task is not None
        assert isinstance(frozen.task.exception(), NodeDead)

    assert frozen.runner.calls == []
    assert key_of(held) == RunKey(job.id, held.run)
