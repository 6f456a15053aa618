"""Dead letters: what has failed for good is kept, and is run again or let go exactly once."""

from __future__ import annotations

import asyncio

import pytest

from onthedot.core.instants import DAY, HOUR, MINUTE, SECOND
from onthedot.core.model import is_occurrence
from onthedot.core.states import Status
from onthedot.errors import JobDeleted, NotDead, NotFound
from tests.support.builders import (
    PLENTY,
    RunKey,
    a_held_run,
    a_job,
    a_node,
    a_one_off,
    a_run,
    claim,
    delete,
    edit,
    every,
    failed,
    finish,
    key_of,
    keys_of,
    lease,
    ledger_of,
    pause,
    promote,
    prune,
    view,
)


async def fail(store, clock, node, *runs):
    outcomes = [failed(run, clock) for run in runs]
    await store.runs.finish(node, outcomes, now=clock.now())


async def a_letter(store, clock, node, job=None, **fields):
    """A run that has failed for good; returned as it was held."""
    held = await a_held_run(store, clock, node, job, **fields)
    await fail(store, clock, node, held)
    return held


async def redrive(store, clock, run):
    return RunKey(run.job, await store.dead_letters.redrive(run.job, run.run, now=clock.now()))


async def redrive_all(store, clock, job, limit=PLENTY):
    return await store.dead_letters.redrive_all(job.id, limit=limit, now=clock.now())


async def everything(store, *, page=PLENTY):
    found, before = [], None
    while more := await store.dead_letters.page(before=before, limit=page):
        found += more
        before = more[-1].place
    return found


async def of_job(store, job, *, page=PLENTY):
    found, before = [], None
    while more := await store.dead_letters.of_job(job.id, before=before, limit=page):
        found += more
        before = more[-1].run
    return found


async def test_a_run_that_failed_for_good_is_a_dead_letter_with_all_that_is_needed(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, name="reindex")
    held = await a_held_run(store, clock, node, job, payload='{"to": "ana"}')
    clock.advance(SECOND)
    await fail(store, clock, node, held)

    letter = await store.dead_letters.get(held.job, held.run)

    assert key_of(letter) == key_of(held)
    assert (letter.version, letter.attempt, letter.due) == (1, 1, held.due)
    assert letter.failed_at == clock.now()
    assert letter.error == "HTTP 500 Internal Server Error"
    assert letter.payload == '{"to": "ana"}'
    assert letter.job_name == "reindex"
    assert await everything(store) == [letter]
    assert await of_job(store, job) == [letter]


async def test_what_succeeded_or_is_retried_is_no_dead_letter(store, clock):
    node = await a_node(store, clock)
    good = await a_held_run(store, clock, node)
    await finish(store, clock, node, good)
    again = await a_held_run(store, clock, node)
    outcome = failed(again, clock, retry_at=clock.now() + MINUTE)
    await store.runs.finish(node, [outcome], now=clock.now())

    assert await everything(store) == []


async def test_letters_come_latest_failure_first_and_page_by_page(store, clock):
    node = await a_node(store, clock)
    jobs = [await a_job(store, clock) for _ in range(2)]
    runs = []
    for number in range(7):
        runs.append(await a_letter(store, clock, node, jobs[number % 2]))
        if number % 3:  # some fail in the same microsecond
            clock.advance(SECOND)

    found = await everything(store, page=2)

    assert len(found) == 7
    assert set(keys_of(found)) == set(keys_of(runs))
    assert [letter.place for letter in found] == sorted(
        (letter.place for letter in found), reverse=True
    )


async def test_the_letters_of_a_job_are_its_own_newest_run_first(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock)
    await a_letter(store, clock, node)
    runs = [await a_letter(store, clock, node, job) for _ in range(5)]

    found = await of_job(store, job, page=2)

    assert keys_of(found) == sorted(keys_of(runs), reverse=True)


async def test_a_redrive_is_a_new_run_that_names_the_old_one_and_ends_the_letter(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock)
    old = await a_letter(store, clock, node, job, payload="[1]")
    clock.advance(HOUR)

    new = await redrive(store, clock, old)

    assert not is_occurrence(new.run)
    assert new.run > old.run
    assert await everything(store) == []
    shown = await view(store, clock, new)
    assert (shown.status, shown.redrive_of, shown.attempt) == (Status.QUEUED, old.run, 1)
    assert shown.due == old.due
    assert (await view(store, clock, old)).status is Status.FAILED
    assert [each.redrive_of for each in await ledger_of(store, clock, job.id)] == [old.run, None]
    [leased] = await lease(store, clock, node)
    assert (leased.run, leased.due, leased.at) == (new.run, old.due, clock.now())
    assert (leased.payload, leased.attempt, leased.rescues) == ("[1]", 1, 0)


async def test_a_redriven_run_still_names_the_old_one_when_it_is_over(store, clock):
    node = await a_node(store, clock)
    old = await a_letter(store, clock, node)
    new = await redrive(store, clock, old)
    [leased] = await lease(store, clock, node)

    await finish(store, clock, node, leased)

    shown = await view(store, clock, new)
    assert (shown.status, shown.redrive_of) == (Status.SUCCEEDED, old.run)
    overview = await store.ledger.overview(limit=10, now=clock.now())
    assert {each.run: each.redrive_of for each in overview.recent} == {
        new.run: old.run,
        old.run: None,
    }


async def test_a_redrive_that_fails_again_is_a_letter_of_its_own(store, clock):
    node = await a_node(store, clock)
    old = await a_letter(store, clock, node)
    second = await redrive(store, clock, old)
    await fail(store, clock, node, *await lease(store, clock, node))

    assert keys_of(await everything(store)) == [second]
    third = await redrive(store, clock, second)

    assert (await view(store, clock, third)).redrive_of == second.run


async def test_a_redrive_uses_the_job_as_it_is_now(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock)
    old = await a_letter(store, clock, node, job)
    await edit(store, clock, job, handler_url="http://mended/", queue="slow", priority=7)

    await redrive(store, clock, old)

    [leased] = await lease(store, clock, node)
    assert (leased.version, leased.lane, leased.priority) == (2, "default|slow|", 7)


async def test_a_redrive_works_while_the_job_is_paused(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60))
    old = await a_letter(store, clock, node, job)
    await pause(store, clock, job)

    new = await redrive(store, clock, old)

    assert keys_of(await lease(store, clock, node)) == [new]


async def test_the_redrive_of_an_occurrence_leaves_its_record_as_it_was(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60))
    clock.advance(MINUTE)
    [held] = await claim(store, clock, node)
    await fail(store, clock, node, held)
    before = await view(store, clock, held)

    new = await redrive(store, clock, held)
    await finish(store, clock, node, *await lease(store, clock, node))

    assert await view(store, clock, held) == before
    assert (await view(store, clock, new)).due == held.due
    assert len(await ledger_of(store, clock, job.id)) == 2


async def test_a_second_redrive_finds_nothing_and_names_the_first(store, clock):
    node = await a_node(store, clock)
    old = await a_letter(store, clock, node)
    new = await redrive(store, clock, old)

    with pytest.raises(NotDead, match=f"-{new.run:x}'"):
        await redrive(store, clock, old)
    with pytest.raises(NotDead):
        await store.dead_letters.dismiss(old.job, old.run)
    with pytest.raises(NotDead):
        await store.dead_letters.get(old.job, old.run)

    assert len(await ledger_of(store, clock, old.job)) == 2


async def test_what_is_no_dead_letter_cannot_be_redriven_or_dismissed(store, clock):
    node = await a_node(store, clock)
    good = await a_held_run(store, clock, node)
    await finish(store, clock, node, good)
    live = await a_run(store, clock)

    for run, why in ((good, "it ended as succeeded"), (live, "it has not ended")):
        with pytest.raises(NotDead, match=why):
            await redrive(store, clock, run)
        with pytest.raises(NotDead, match=why):
            await store.dead_letters.dismiss(run.job, run.run)
    for nowhere in (RunKey(good.job, good.run + 1), RunKey(999, 1)):
        with pytest.raises(NotFound):
            await redrive(store, clock, nowhere)
        with pytest.raises(NotFound):
            await store.dead_letters.dismiss(nowhere.job, nowhere.run)


async def test_the_letters_of_a_deleted_job_stay_but_cannot_be_redriven(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock)
    old = await a_letter(store, clock, node, job)
    await delete(store, clock, job)

    with pytest.raises(JobDeleted):
        await redrive(store, clock, old)
    with pytest.raises(NotFound):
        await redrive_all(store, clock, job)

    [letter] = await everything(store)
    assert (key_of(letter), letter.job_name) == (key_of(old), None)
    assert await of_job(store, job) == [letter]
    assert await store.dead_letters.dismiss_all(job.id, limit=10) == 1
    assert await everything(store) == []


async def test_a_dismissed_letter_is_gone_and_its_history_stays(store, clock):
    node = await a_node(store, clock)
    old, other = await a_letter(store, clock, node), await a_letter(store, clock, node)

    await store.dead_letters.dismiss(old.job, old.run)

    assert keys_of(await everything(store)) == [key_of(other)]
    assert (await view(store, clock, old)).status is Status.FAILED
    with pytest.raises(NotDead, match="dismissed"):
        await redrive(store, clock, old)


async def test_all_letters_of_a_job_are_redriven_oldest_first_in_steps(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock)
    other = await a_letter(store, clock, node)
    runs = []
    for _ in range(5):
        clock.advance(1)  # within one microsecond, none is the oldest
        runs.append(await a_letter(store, clock, node, job))

    steps = [await redrive_all(store, clock, job, limit=2) for _ in range(4)]

    assert [len(step) for step in steps] == [2, 2, 1, 0]
    redriven = [each for step in steps for each in step]
    assert [each.old for each in redriven] == [run.run for run in runs]
    assert len({each.new for each in redriven}) == 5
    for old, new in redriven:
        assert (await view(store, clock, RunKey(job.id, new))).redrive_of == old
    assert keys_of(await everything(store)) == [key_of(other)]


async def test_all_letters_of_a_job_are_dismissed_in_steps(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock)
    other = await a_letter(store, clock, node)
    for _ in range(3):
        await a_letter(store, clock, node, job)

    steps = [await store.dead_letters.dismiss_all(job.id, limit=2) for _ in range(3)]

    assert steps == [2, 1, 0]
    assert keys_of(await everything(store)) == [key_of(other)]


async def test_of_many_who_redrive_at_once_one_does(store, clock):
    node = await a_node(store, clock)
    old = await a_letter(store, clock, node)

    answers = await asyncio.gather(
        *(redrive(store, clock, old) for _ in range(8)), return_exceptions=True
    )

    [new] = [answer for answer in answers if isinstance(answer, RunKey)]
    assert sum(isinstance(answer, NotDead) for answer in answers) == 7
    assert keys_of(await lease(store, clock, node)) == [new]


async def test_of_many_who_redrive_all_each_letter_is_redriven_once(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock)
    runs = [await a_letter(store, clock, node, job) for _ in range(20)]

    answers = await asyncio.gather(*(redrive_all(store, clock, job, limit=8) for _ in range(6)))

    redriven = [each for answer in answers for each in answer]
    assert sorted(each.old for each in redriven) == sorted(run.run for run in runs)
    assert len(await lease(store, clock, node)) == 20


async def test_letters_outlive_history_and_can_still_be_redriven(store, clock):
    node = await a_node(store, clock)
    old = await a_letter(store, clock, node)
    clock.advance(40 * DAY)
    await prune(store, before=clock.now() - 30 * DAY)
    with pytest.raises(NotFound):
        await view(store, clock, old)

    new = await redrive(store, clock, old)

    assert (await view(store, clock, new)).redrive_of == old.run


async def test_a_one_off_stays_as_long_as_it_has_a_letter(store, clock):
    node = await a_node(store, clock)
    job = await a_one_off(store, clock, at=clock.now() + SECOND)
    clock.advance(SECOND)
    [held] = await promote(store, clock, node)
    await fail(store, clock, node, held)
    clock.advance(40 * DAY)
    await prune(store, before=clock.now() - 30 * DAY)

    new = await redrive(store, clock, held)
    [leased] = await lease(store, clock, node)
    await finish(store, clock, node, leased)

    assert key_of(leased) == new
    clock.advance(40 * DAY)
    await prune(store, before=clock.now() - 30 * DAY)
    with pytest.raises(NotFound):
        await store.jobs.get(job.id)


async def test_what_a_run_was_the_redrive_of_is_forgotten_with_it(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock)
    old = await a_letter(store, clock, node, job)
    await redrive(store, clock, old)
    clock.advance(40 * DAY)
    kept = await prune(store, before=clock.now() - 30 * DAY)
    await finish(store, clock, node, *await lease(store, clock, node))
    clock.advance(40 * DAY)

    went = await prune(store, before=clock.now() - 30 * DAY)

    assert (kept, went) == (1, 2)  # the old run; then the new one, and what it was
