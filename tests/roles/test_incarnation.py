"""One incarnation of a node, at work: it joins, its roles play together, nothing runs twice."""

from __future__ import annotations

import asyncio

import pytest

from onthedot.clock import DatabaseClock
from onthedot.core.instants import DAY, MILLISECOND, SECOND, Instant
from onthedot.core.outcomes import Result
from onthedot.core.states import Status
from onthedot.errors import StoreUnavailable
from onthedot.roles.incarnation import join
from onthedot.roles.membership import HANDOVER_S
from onthedot.roles.runners import Call
from tests.support.builders import (
    ALL_SHARDS,
    a_job,
    a_node,
    a_one_off,
    a_run,
    every,
    kill,
    lease,
    ledger_of,
)
from tests.support.clock import START
from tests.support.roles import (
    Failing,
    Fault,
    Living,
    a_kit,
    living,
    until,
)

# Joining and working


async def test_an_incarnation_joins_with_what_it_says_about_itself(store, clock):
    incarnation = await join(a_kit(store, clock, slots=7, roles=("worker",)))

    [seen] = await store.nodes.all()
    assert (seen.number, seen.facts.slots) == (incarnation.member.number, 7)
    assert seen.facts.roles == ("worker",)


async def test_a_recurring_job_runs_on_the_dot_and_once_from_end_to_end(store, clock):
    job = await a_job(store, clock, schedule=every(2))
    async with living(store, clock) as node:
        await asyncio.sleep(20.5)
        await node.drained()

    dues = [START + k * 2 * SECOND for k in range(1, 11)]
    late = [start - due for start, due in zip(node.runner.started, dues, strict=True)]
    assert all(0 <= us <= 10 for us in late), late
    ledger = [run for run in await ledger_of(store, clock, job.id) if run.due in dues]
    assert [run.status for run in ledger] == [Status.SUCCEEDED] * 10


async def test_a_run_that_fails_is_tried_again_after_its_backoff(store, clock):
    job = await a_one_off(store, clock, at=START + SECOND)
    async with living(store, clock) as node:
        node.runner.answer(Result(error="HTTP 503 Service Unavailable"))
        await asyncio.sleep(5)

    [run] = await ledger_of(store, clock, job.id)
    assert (run.status, run.attempt) == (Status.SUCCEEDED, 2)
    first, second = node.runner.started
    assert second - first == pytest.approx(750 * MILLISECOND, abs=10)


async def test_two_incarnations_share_the_work_and_run_nothing_twice(store, clock):
    jobs = [await a_job(store, clock, schedule=every(1)) for _ in range(32)]
    async with living(store, clock) as a, living(store, clock) as b:
        await asyncio.sleep(20.5)
        await a.drained()
        await b.drained()

    runs = a.runner.runs + b.runner.runs
    assert len(runs) == len(set(runs)) >= 20 * len(jobs)
    assert min(len(a.runner.runs), len(b.runner.runs)) > len(runs) / 3


async def test_roles_that_a_node_does_not_have_are_not_played(store, clock):
    await a_job(store, clock, schedule=every(1))
    async with living(store, clock, roles=("scheduler",)) as schedules:
        await asyncio.sleep(2.5)
        await schedules.drained()
    other = await a_node(store, clock)

    assert schedules.runner.calls == []
    assert len(await lease(store, clock, other)) >= 2


async def test_an_outage_of_the_store_loses_nothing_and_doubles_nothing(store, faulty, clock):
    job = await a_job(store, clock, schedule=every(1))
    async with living(faulty, clock) as node:
        await asyncio.sleep(3.3)
        for verb in ("clock.peek", "clock.fire", "runs.lease", "runs.finish", "nodes.beat"):
            faulty.on(verb, Failing(StoreUnavailable("gone"), after=verb != "clock.fire"))
        await asyncio.sleep(5)
        faulty.heal()
        await asyncio.sleep(12)
        await node.drained()

    ran = node.runner.runs
    assert len(ran) == len(set(ran)) >= 19
    ledger = [
        run for run in await ledger_of(store, clock, job.id) if run.due <= START + 19 * SECOND
    ]
    assert {run.status for run in ledger} == {Status.SUCCEEDED}
    assert len(ledger) == 19


async def test_problems_are_reported_while_the_store_is_away(store, faulty, clock):
    async with living(faulty, clock) as node:
        await asyncio.sleep(1)
        sound = node.incarnation.supervisor.problems()
        faulty.on("clock.peek", Failing(StoreUnavailable("gone")))
        await asyncio.sleep(1)
        wrong = node.incarnation.supervisor.problems()

    assert sound == []
    assert wrong == ["scheduler: StoreUnavailable: gone"]


@pytest.mark.parametrize("verb", ["clock.fire", "runs.promote", "runs.lease"])
async def test_what_was_claimed_although_the_answer_was_lost_is_two_seconds_late_at_most(
    store, faulty, clock, verb
):
    await a_job(store, clock, schedule=every(1))
    async with living(faulty, clock) as node:
        await asyncio.sleep(3.2)
        faulty.on(verb, Failing(StoreUnavailable("cut off"), times=1, after=True))
        await a_one_off(store, clock, at=clock.now() + SECOND // 2)
        await a_run(store, clock)
        await asyncio.sleep(5)

    late = [
        started - call.scheduled_for
        for started, call in zip(node.runner.started, node.runner.calls, strict=True)
    ]
    assert len(late) == 10, "eight occurrences, a one-off and a run"
    assert max(late) <= 2 * SECOND


async def test_the_shards_of_the_dead_are_looked_after_within_two_seconds(store, clock):
    """The janitor looks every second; the next heartbeat may be three seconds away."""
    gone = await a_node(store, clock)
    async with living(store, clock) as alive:
        member = alive.incarnation.member
        await until(lambda: member.shards < ALL_SHARDS)
        await asyncio.sleep(0.5)  # the next beat is two and a half seconds away
        await kill(store, clock, gone)
        await asyncio.sleep(2)

        assert member.shards == ALL_SHARDS


async def test_the_shards_of_a_node_that_drains_are_looked_after_by_the_others(store, clock):
    jobs = [await a_job(store, clock, schedule=every(1)) for _ in range(16)]
    async with (
        living(store, clock, slots=50, grace_us=DAY) as leaving,
        living(store, clock, slots=50) as staying,
    ):
        await asyncio.sleep(6.5)
        leaving.runner.hang()
        await until(lambda: leaving.runner.under_way > 0)
        leaving.stop.set()  # it waits for its attempts, and claims nothing more
        await asyncio.sleep(4)
        began = clock.now()
        await asyncio.sleep(5)

    ran = {call.job_id for call in staying.runner.calls if call.scheduled_for > began}
    assert len(ran) == len(jobs)


async def test_a_node_that_leaves_makes_nothing_late_although_nobody_is_told(store, clock):
    for _ in range(32):
        await a_job(store, clock, schedule=every(1))
    async with (
        living(store, clock, slots=50) as leaving,
        living(store, clock, slots=50) as staying,
    ):
        await asyncio.sleep(6.1)  # the other one has just sent a heartbeat
        await leaving.drained()
        await asyncio.sleep(5)

    calls, starts = zip(*started(leaving), *started(staying), strict=True)
    late = [start - call.scheduled_for for call, start in zip(calls, starts, strict=True)]
    assert min(len(leaving.runner.calls), len(staying.runner.calls)) > 32
    assert max(late) <= SECOND


def started(node: Living) -> list[tuple[Call, Instant]]:
    return list(zip(node.runner.calls, node.runner.started, strict=True))


async def test_a_node_that_leaves_waits_for_nobody_if_it_is_the_last(store, clock):
    async with living(store, clock) as node:
        await asyncio.sleep(1)
        before = clock.monotonic()
        await node.drained()

    assert clock.monotonic() - before < 0.1


async def test_a_node_that_leaves_waits_no_longer_than_a_heartbeat_for_one_that_is_silent(
    store, clock
):
    await a_node(store, clock)
    async with living(store, clock) as node:
        await asyncio.sleep(1)
        before = clock.monotonic()
        await node.drained()

    assert clock.monotonic() - before == pytest.approx(HANDOVER_S, abs=0.2)


async def test_a_node_that_refuses_to_start_anything_says_so(faulty, clock):
    database = DatabaseClock(clock)
    database.observe(clock.now() + 6 * SECOND)

    async def six_seconds_ahead(verb: Fault) -> Instant:
        ahead: Instant = clock.now() + 6 * SECOND
        return ahead

    faulty.on("nodes.time", six_seconds_ahead)
    async with living(faulty, database) as node:
        await asyncio.sleep(10)
        refuses = not node.incarnation.member.may_start()
        problems = node.incarnation.supervisor.problems()

    assert refuses
    assert problems != []


async def test_an_idle_node_prunes_once_a_minute(faulty, clock):
    async with living(faulty, clock) as node:
        await asyncio.sleep(59)
        problems = node.incarnation.supervisor.problems()
        await asyncio.sleep(2)

    assert faulty.calls["upkeep.prune"] == 2
    assert problems == []  # who sleeps is not stuck
