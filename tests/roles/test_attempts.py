"""An attempt leaves exactly one outcome behind, whatever its handler does and whoever stops it."""

from __future__ import annotations

import asyncio
import gc

import pytest

from onthedot.core.instants import MILLISECOND, SECOND
from onthedot.core.model import Backoff, Definition, LeasedRun, Outcome
from onthedot.core.outcomes import Result
from onthedot.core.states import Status
from onthedot.roles.attempt import Attempts, AttemptServices
from onthedot.roles.held_runs import HeldRuns
from onthedot.roles.runners import Call, Done, Stop
from onthedot.store.values import CancelVerdict
from tests.support.builders import (
    a_job,
    a_one_off,
    a_run,
    delete,
    handling_of,
    some_runs,
    status_of,
    view,
)
from tests.support.clock import START
from tests.support.roles import INSTALLATION, FixedChance, Stand, a_stand, id_of, idle

QUARTER = 250 * MILLISECOND


async def a_hanging_attempt(store, clock, stand: Stand, **fields):
    run = await a_run(store, clock, await a_job(store, clock, **fields))
    stand.runner.hang()
    stand.worker.look()
    await stand.work()
    await stand.work()
    assert id_of(run) in stand.runner.runs
    return run


# How it ends by itself


class Entwined:
    """A runner whose way to stop a call knows the call, as that of functions does."""

    def start(self, call: Call, done: Done) -> Stop:
        asyncio.get_running_loop().call_soon(done, Result())
        return lambda: done(None)

    async def close(self) -> None: ...


async def test_attempts_that_have_ended_leave_nothing_for_the_collector(clock):
    ended: list[Outcome] = []
    bench = AttemptServices(clock, FixedChance(), Entwined(), INSTALLATION, ended.append)
    attempts = Attempts(bench, HeldRuns(clock, slots=10))
    run = LeasedRun(33, 1 << 10, 4, "default|default|", 0, 5, START, START, 1, 0, 17, None)
    execution = handling_of(Definition(name="n", handler="sums"))
    gc.collect()
    gc.disable()
    try:
        for _ in range(100):
            attempts.start(run, execution)
            await idle()
        left = gc.collect()
    finally:
        gc.enable()

    assert len(ended) == 100
    assert left < 100


async def test_a_failed_attempt_with_attempts_left_waits_for_its_backoff(store, clock):
    job = await a_job(store, clock, retries=1, backoff=Backoff(initial_us=4 * SECOND))
    run = await a_run(store, clock, job)
    stand = await a_stand(store, clock)
    stand.runner.answer(Result(error="HTTP 500 Internal Server Error"))

    await stand.work_off()

    seen = await view(store, clock, run)
    assert (seen.status, seen.attempt) == (Status.SCHEDULED, 2)
    assert seen.at == START + 3 * SECOND  # half of the delay, and half of the rest by chance


async def test_a_run_is_retried_until_it_succeeds_under_the_same_id(store, clock):
    run = await a_run(store, clock, await a_job(store, clock, retries=2))
    stand = await a_stand(store, clock)
    stand.runner.answer(Result(error="no"), Result(error="no"))

    for _ in range(5):
        await stand.member.step()
        await stand.scheduler.step()
        await stand.work_off()
        clock.advance(SECOND)

    assert stand.runner.runs == [id_of(run)] * 3
    assert [call.attempt for call in stand.runner.calls] == [1, 2, 3]
    assert await status_of(store, clock, run) is Status.SUCCEEDED


async def test_an_answer_that_will_stay_the_same_is_not_tried_again(store, clock):
    run = await a_run(store, clock)
    stand = await a_stand(store, clock)
    stand.runner.answer(Result(error="HTTP 404 Not Found", retryable=False))

    await stand.work_off()

    seen = await view(store, clock, run)
    assert (seen.status, seen.reason) == (Status.FAILED, "not retryable")


@pytest.mark.parametrize(
    ("timeout_us", "words"),
    [(1 * SECOND, "timed out after 1 s"), (250 * MILLISECOND, "timed out after 250 ms")],
)
async def test_an_attempt_that_takes_too_long_is_aborted_and_says_so(
    store, clock, timeout_us, words
):
    stand = await a_stand(store, clock)
    run = await a_hanging_attempt(store, clock, stand, timeout_us=timeout_us, retries=0)

    await asyncio.sleep(2)
    await stand.finisher.step()

    seen = await view(store, clock, run)
    assert (seen.status, seen.error) == (Status.FAILED, words)
    assert seen.finished_at == pytest.approx(START + timeout_us, abs=10)
    assert stand.runner.aborted == [id_of(run)]
    assert stand.holding.free_slots == stand.holding.slots


async def test_an_attempt_that_ends_in_time_does_not_time_out(store, clock):
    stand = await a_stand(store, clock)
    run = await a_hanging_attempt(store, clock, stand, timeout_us=SECOND)

    await asyncio.sleep(0.999)
    stand.runner.let_go()
    await asyncio.sleep(1)
    await stand.finisher.step()

    assert await status_of(store, clock, run) is Status.SUCCEEDED


# Runners that misbehave


@pytest.mark.parametrize("error", [RuntimeError("boom"), KeyError("x"), OSError(5, "EIO")])
async def test_a_runner_that_raises_fails_the_attempt_and_not_the_worker(store, clock, error):
    wrong, sound = await some_runs(store, clock, 2, await a_job(store, clock, retries=0))
    stand = await a_stand(store, clock)
    stand.runner.answer(error)

    await stand.work_off()

    seen = await view(store, clock, wrong)
    assert seen.status is Status.FAILED
    assert seen.error is not None
    assert type(error).__name__ in seen.error
    assert await status_of(store, clock, sound) is Status.SUCCEEDED
    assert stand.holding.free_slots == stand.holding.slots


async def test_a_timeout_of_something_inside_the_runner_is_not_that_of_the_job(store, clock):
    run = await a_run(store, clock, await a_job(store, clock, retries=0))
    stand = await a_stand(store, clock)
    stand.runner.answer(TimeoutError("the name server does not answer"))

    await stand.work_off()

    seen = await view(store, clock, run)
    assert (seen.status, seen.finished_at) == (Status.FAILED, START)
    assert seen.error is not None
    assert "timed out after" not in seen.error


async def test_a_runner_that_was_cancelled_within_fails_the_attempt_and_frees_the_slot(
    store, clock
):
    run = await a_run(store, clock, await a_job(store, clock, retries=0))
    stand = await a_stand(store, clock)
    stand.runner.answer(asyncio.CancelledError())  # as when a connection that it shares is closed

    await stand.work_off()

    assert stand.holding.free_slots == stand.holding.slots
    assert await status_of(store, clock, run) is Status.FAILED


async def test_a_run_that_comes_back_while_its_last_attempt_is_ending_has_two_ends(store, clock):
    stand = await a_stand(store, clock)
    await a_hanging_attempt(store, clock, stand)
    [first] = stand.holding.under_way.values()

    stand.attempts.start(first.run._replace(fence=first.run.fence + 2), first.execution)
    stand.runner.let_go()
    await idle()

    assert {outcome.fence - first.run.fence for outcome in stand.outcomes} == {0, 2}
    assert stand.holding.free_slots == stand.holding.slots


# Cancelling


async def test_a_run_that_waits_in_memory_is_cancelled_at_once_and_never_starts(store, clock):
    job = await a_one_off(store, clock, at=START + SECOND)
    stand = await a_stand(store, clock)
    await stand.scheduler.step()
    [ref] = await store.runs.owned(stand.number)

    verdict = await store.runs.cancel(job.id, ref.run, now=clock.now())
    await stand.reconciler.listen()
    await stand.finisher.step()

    assert verdict is CancelVerdict.ASKED
    seen = await view(store, clock, ref)
    assert (seen.status, seen.reason) == (Status.CANCELLED, "cancelled by request")
    assert seen.started_at is None
    clock.advance(SECOND)
    await stand.work()
    assert stand.runner.calls == []


async def test_an_attempt_under_way_is_aborted_by_a_cancel(store, clock):
    stand = await a_stand(store, clock)
    run = await a_hanging_attempt(store, clock, stand)

    await store.runs.cancel(run.job, run.run, now=clock.now())
    clock.advance(QUARTER)
    await stand.reconciler.listen()
    await idle()
    await stand.finisher.step()

    seen = await view(store, clock, run)
    assert (seen.status, seen.started_at) == (Status.CANCELLED, START)
    assert seen.finished_at == START + QUARTER
    assert stand.runner.aborted == [id_of(run)]
    assert stand.holding.free_slots == stand.holding.slots


async def test_an_attempt_that_is_cancelled_before_its_first_breath_ends_too(store, clock):
    run = await a_run(store, clock)
    stand = await a_stand(store, clock)
    await stand.worker.step()  # leases it
    await store.runs.cancel(run.job, run.run, now=clock.now())

    await stand.worker.step()  # starts its task, which gets its turn only later
    await stand.reconciler.listen()
    await idle()

    assert [outcome.status for outcome in stand.outcomes] == [Status.CANCELLED]
    assert stand.holding.free_slots == stand.holding.slots


async def test_a_cancel_that_is_repeated_leaves_one_outcome(store, clock):
    stand = await a_stand(store, clock)
    run = await a_hanging_attempt(store, clock, stand)
    await store.runs.cancel(run.job, run.run, now=clock.now())

    for _ in range(3):
        await stand.reconciler.listen()
        await idle()
    await stand.finisher.step()

    assert len(stand.outcomes) == 1
    assert await status_of(store, clock, run) is Status.CANCELLED


async def test_an_attempt_that_takes_its_time_to_stop_is_not_stopped_a_second_time(store, clock):
    stand = await a_stand(store, clock)
    stand.runner.abort_s = 1.0
    run = await a_hanging_attempt(store, clock, stand)
    await store.runs.cancel(run.job, run.run, now=clock.now())

    for _ in range(8):
        await asyncio.sleep(await stand.reconciler.listen())
    await stand.finisher.step()

    assert stand.runner.aborted == [id_of(run)]
    assert await status_of(store, clock, run) is Status.CANCELLED


async def test_a_cancel_that_comes_too_late_changes_nothing(store, clock):
    stand = await a_stand(store, clock)
    run = await a_hanging_attempt(store, clock, stand)
    stand.runner.let_go()
    await idle()

    await store.runs.cancel(run.job, run.run, now=clock.now())
    await stand.reconciler.listen()
    await idle()
    await stand.finisher.step()

    assert await status_of(store, clock, run) is Status.SUCCEEDED
    assert await store.runs.signals(stand.number) == []


async def test_an_attempt_that_fails_after_a_cancel_is_not_retried(store, clock):
    stand = await a_stand(store, clock)
    stand.runner.answer(Result(error="HTTP 500"))
    run = await a_hanging_attempt(store, clock, stand)
    await store.runs.cancel(run.job, run.run, now=clock.now())

    stand.runner.let_go()  # it fails by itself before the signal is read
    await idle()
    await stand.finisher.step()

    assert await status_of(store, clock, run) is Status.CANCELLED


async def test_a_deleted_job_stops_its_runs(store, clock):
    stand = await a_stand(store, clock)
    run = await a_hanging_attempt(store, clock, stand)

    await delete(store, clock, await store.jobs.get(run.job))
    await stand.reconciler.listen()
    await idle()
    await stand.finisher.step()

    seen = await view(store, clock, run)
    assert (seen.status, seen.reason) == (Status.CANCELLED, "job deleted")
