"""What is started at most once: leased at its instant, and lost in doubt, never repeated."""

from __future__ import annotations

import pytest

from onthedot.core.instants import SECOND
from onthedot.core.model import Lanes
from onthedot.core.states import Status
from onthedot.errors import NotDead
from onthedot.store.values import CancelVerdict, Rescued
from tests.support.builders import (
    a_held_run,
    a_job,
    a_node,
    a_one_off,
    a_run,
    a_running_run,
    claim,
    edit,
    every,
    failed,
    kill,
    lease,
    promote,
    ref,
    status_of,
    succeeded,
    view,
)

ONCE = {"guarantee": "at_most_once", "retries": 0}


async def test_an_occurrence_is_made_unowned_and_leased_only_at_its_instant(store, clock):
    node = await a_node(store, clock)
    await a_job(store, clock, schedule=every(10), **ONCE)
    clock.advance(10 * SECOND - 1)

    claimed = await claim(store, clock, node)
    too_early = await lease(store, clock, node)
    clock.advance(1)
    at_its_instant = await lease(store, clock, node)

    assert (claimed, too_early) == ([], [])
    assert [run.at_most_once for run in at_its_instant] == [True]


async def test_its_neighbours_are_claimed_ahead_as_ever(store, clock):
    node = await a_node(store, clock)
    await a_job(store, clock, schedule=every(10), **ONCE)
    plain = await a_job(store, clock, schedule=every(10))
    clock.advance(10 * SECOND - 1)

    claimed = await claim(store, clock, node)

    assert [run.job for run in claimed] == [plain.id]


async def test_a_one_off_is_promoted_unowned(store, clock):
    node = await a_node(store, clock)
    job = await a_one_off(store, clock, at=clock.now() + SECOND, **ONCE)
    clock.advance(SECOND)

    promoted = await promote(store, clock, node)

    assert promoted == []
    assert [run.job for run in await lease(store, clock, node)] == [job.id]


async def test_a_function_is_leased_by_workers_that_have_it(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, handler_url="", handler="shop.bill", **ONCE)
    run = await a_run(store, clock, job)

    without = await store.runs.lease(node, Lanes(), limit=9, now=clock.now())
    lanes = Lanes((), frozenset({"shop.bill"}))
    having = await store.runs.lease(node, lanes, limit=9, now=clock.now())

    assert without == []
    assert [(each.job, each.run) for each in having] == [run]


async def test_a_run_of_a_dead_node_is_lost_and_never_leased_again(store, clock):
    node, heir = await a_node(store, clock), await a_node(store, clock)
    run = await a_running_run(store, clock, node, await a_job(store, clock, **ONCE))
    await kill(store, clock, node)

    rescued = await store.runs.rescue(limit=10, now=clock.now())

    assert rescued == Rescued(taken=1, lost=1)
    assert await lease(store, clock, heir) == []
    seen = await view(store, clock, run)
    assert (seen.status, seen.reason, seen.node) == (Status.LOST, "node died", node)
    assert (seen.started_at, seen.finished_at) == (clock.now(), clock.now())
    assert seen.error is not None
    assert f"node {node} died" in seen.error
    assert await store.runs.rescue(limit=10, now=clock.now()) == Rescued(0)


async def test_among_the_runs_of_a_dead_node_only_those_are_lost(store, clock):
    node = await a_node(store, clock)
    once = await a_held_run(store, clock, node, await a_job(store, clock, **ONCE))
    plain = await a_held_run(store, clock, node)
    await kill(store, clock, node)

    assert await store.runs.rescue(limit=10, now=clock.now()) == Rescued(taken=2, lost=1)

    assert await status_of(store, clock, once) is Status.LOST
    assert await status_of(store, clock, plain) is Status.QUEUED


async def test_a_lost_run_is_a_dead_letter_with_its_payload_and_can_be_redriven(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, **ONCE)
    run = await a_held_run(store, clock, node, job, payload='"mine"')
    await kill(store, clock, node)
    await store.runs.rescue(limit=10, now=clock.now())

    letter = await store.dead_letters.get(run.job, run.run)
    again = await store.dead_letters.redrive(run.job, run.run, now=clock.now())

    assert (letter.payload, letter.failed_at) == ('"mine"', clock.now())
    assert letter.error is not None
    assert "unknown" in letter.error
    [new] = await lease(store, clock, await a_node(store, clock))
    assert (new.run, new.payload, new.at_most_once) == (again, '"mine"', True)


async def test_a_lost_run_has_a_notice_if_its_job_asks_for_one(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, on_failure_url="http://127.0.0.1:9/failed", **ONCE)
    run = await a_held_run(store, clock, node, job)
    await kill(store, clock, node)

    await store.runs.rescue(limit=10, now=clock.now())

    [notice] = await store.outbox.take(limit=9, until=clock.now() + SECOND, now=clock.now())
    assert (notice.run, notice.status, notice.reason) == (run.run, Status.LOST, "node died")


async def test_a_lost_run_that_was_dismissed_says_so(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node, await a_job(store, clock, **ONCE))
    await kill(store, clock, node)
    await store.runs.rescue(limit=10, now=clock.now())

    await store.dead_letters.dismiss(run.job, run.run)

    with pytest.raises(NotDead, match="dismissed"):
        await store.dead_letters.get(run.job, run.run)


async def test_a_cancel_does_not_hide_that_a_dead_node_may_have_started_it(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node, await a_job(store, clock, **ONCE))
    verdict = await store.runs.cancel(run.job, run.run, now=clock.now())
    await kill(store, clock, node)

    await store.runs.rescue(limit=10, now=clock.now())

    assert verdict is CancelVerdict.ASKED
    assert await status_of(store, clock, run) is Status.LOST
    assert await store.runs.signals(node) == []


async def test_its_own_node_gives_back_what_it_has_not_started(store, clock):
    node, other = await a_node(store, clock), await a_node(store, clock)
    run = await a_held_run(store, clock, node, await a_job(store, clock, **ONCE))

    await store.runs.release(node, [ref(run)], now=clock.now())

    [again] = await lease(store, clock, other)
    assert again == run._replace(fence=again.fence)


async def test_its_own_node_may_say_that_it_is_lost(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node, await a_job(store, clock, **ONCE))
    outcome = failed(run, clock, status=Status.LOST, error="who knows", reason="outcome unknown")

    await store.runs.finish(node, [outcome], now=clock.now())

    seen = await view(store, clock, run)
    assert (seen.status, seen.error, seen.reason) == (Status.LOST, "who knows", "outcome unknown")
    assert (await store.dead_letters.get(run.job, run.run)).error == "who knows"


async def test_a_word_from_the_dead_changes_nothing_about_a_lost_run(store, clock):
    node, alive = await a_node(store, clock), await a_node(store, clock)
    run = await a_held_run(store, clock, node, await a_job(store, clock, **ONCE))
    await kill(store, clock, node)
    await store.runs.rescue(limit=10, now=clock.now())

    finished = await store.runs.finish(alive, [succeeded(run, clock)], now=clock.now())

    assert finished.accepted == 0
    assert await status_of(store, clock, run) is Status.LOST


async def test_an_edit_of_the_guarantee_holds_for_what_nobody_has_leased(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, **ONCE)
    await a_run(store, clock, job)

    await edit(store, clock, job, guarantee="at_least_once", retries=3)

    [run] = await lease(store, clock, node)
    assert not run.at_most_once
    await kill(store, clock, node)
    assert await store.runs.rescue(limit=10, now=clock.now()) == Rescued(taken=1, lost=0)
