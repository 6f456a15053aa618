"""The page for people: what is going on, what went wrong, what comes, at most so much of each."""

from __future__ import annotations

from onthedot.core.instants import HOUR, SECOND
from onthedot.core.states import Status
from onthedot.store.values import Overview, Upcoming
from tests.support.builders import (
    a_held_run,
    a_job,
    a_node,
    a_retry,
    a_run,
    a_running_run,
    claim,
    delete,
    every,
    failed,
    finish,
    key_of,
    keys_of,
    lease,
    pause,
    promote,
    some_runs,
)


async def look(store, clock, *, limit=10):
    return await store.ledger.overview(limit=limit, now=clock.now())


async def test_an_empty_store_has_nothing_to_show(store, clock):
    assert await look(store, clock) == Overview(
        live=[], failed=[], recent=[], upcoming=[], names={}, jobs=0, queued=0, set_aside=0
    )


async def test_a_running_run_is_live(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, name="reindex")
    run = await a_running_run(store, clock, node, job)

    overview = await look(store, clock)

    assert [(each.run, each.status) for each in overview.live] == [(run.run, Status.RUNNING)]
    assert overview.names[job.id] == "reindex"


async def test_ended_runs_are_recent_and_failed_ones_are_failed(store, clock):
    node = await a_node(store, clock)
    good = await a_held_run(store, clock, node)
    await finish(store, clock, node, good)
    clock.advance(SECOND)
    bad = await a_held_run(store, clock, node)
    outcome = failed(bad, clock, error="HTTP 500")
    await store.runs.finish(node, [outcome], now=clock.now())

    overview = await look(store, clock)

    assert key_of(good) in keys_of(overview.recent)
    assert [(key_of(each), each.status, each.error) for each in overview.failed] == [
        (key_of(bad), Status.FAILED, "HTTP 500")
    ]
    assert overview.live == []
    assert overview.names.keys() == {good.job, bad.job}


async def test_a_run_with_many_attempts_is_shown_once_by_its_latest(store, clock):
    node = await a_node(store, clock)
    run = await a_retry(store, clock, node, wait_us=SECOND)
    between = await look(store, clock)
    clock.advance(SECOND)
    await finish(store, clock, node, *await promote(store, clock, node))

    over = await look(store, clock)

    assert Status.FAILED not in {each.status for each in (*between.recent, *between.live)}
    assert [(key_of(each), each.status, each.attempt) for each in over.recent] == [
        (key_of(run), Status.SUCCEEDED, 2)
    ]


async def test_the_next_occurrence_of_each_active_job_is_upcoming(store, clock):
    jobs = [await a_job(store, clock, schedule=every(seconds)) for seconds in (10, 20)]
    paused = await a_job(store, clock, schedule=every(5))
    await pause(store, clock, paused)

    overview = await look(store, clock)

    assert sorted(overview.upcoming, key=lambda coming: coming.due) == [
        Upcoming(job=jobs[0].id, due=clock.now() + 10 * SECOND),
        Upcoming(job=jobs[1].id, due=clock.now() + 20 * SECOND),
    ]
    assert {job.id for job in jobs} <= overview.names.keys()


async def test_jobs_are_counted_without_the_deleted(store, clock):
    jobs = [await a_job(store, clock) for _ in range(3)]
    await delete(store, clock, jobs[0])

    assert (await look(store, clock)).jobs == 2


async def test_what_is_due_and_not_running_is_counted_as_queued(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock)
    await a_running_run(store, clock, node, job)
    await some_runs(store, clock, 4, job)
    await a_run(store, clock, job, due=clock.now() + HOUR)

    assert (await look(store, clock, limit=2)).queued == 4


async def test_every_list_stays_within_the_limit_and_every_job_in_it_has_a_name(store, clock):
    node = await a_node(store, clock)
    for n in range(6):
        await a_job(store, clock, name=f"recurring {n}", schedule=every(10))
    clock.advance(30 * SECOND)
    runs = await claim(store, clock, node)
    assert len(runs) == 18
    await finish(store, clock, node, *runs[:6])
    outcomes = [failed(run, clock) for run in runs[6:12]]
    await store.runs.finish(node, outcomes, now=clock.now())

    overview = await look(store, clock, limit=3)

    lists = (overview.live, overview.failed, overview.recent, overview.upcoming)
    assert [len(each) for each in lists] == [3, 3, 3, 3]
    assert {each.job for some in lists for each in some} <= overview.names.keys()
    assert overview.jobs == 6


async def test_a_deleted_job_that_occurs_still_has_its_name(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, name="short-lived")
    await a_run(store, clock, job)
    await finish(store, clock, node, *await lease(store, clock, node))

    await delete(store, clock, job)

    overview = await look(store, clock)
    assert [each.job for each in overview.recent] == [job.id]
    assert overview.names[job.id] == "short-lived"
