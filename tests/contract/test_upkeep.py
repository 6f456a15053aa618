"""Starting, stopping, and what many callers at once can rely on."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from onthedot.core.instants import DAY, HOUR, SECOND
from onthedot.core.model import NUMBER_BITS
from onthedot.core.states import Status
from onthedot.ids import parse_run_id, run_id
from onthedot.store.claims import Finished
from tests.support.builders import (
    a_definition,
    a_job,
    a_node,
    a_receipt,
    a_retry,
    a_run,
    a_running_run,
    claim,
    edit,
    every,
    key_of,
    lease,
    ledger_of,
    plan,
    promote,
    ref,
    some_runs,
    standing_of,
    status_of,
    succeeded,
)


async def test_an_installation_has_one_id_that_fits_into_a_run_id(store, clock):
    job, run = await a_run(store, clock)

    first, second = await store.upkeep.installation(), await store.upkeep.installation()

    assert first == second != ""
    assert parse_run_id(run_id(first, job, run), second) == (job, run)


async def test_many_enqueues_at_once_are_all_accounted_for(store, clock):
    job = await a_job(store, clock)

    made = await asyncio.gather(*(a_run(store, clock, job) for _ in range(200)))

    assert len({key.run for key in made}) == 200
    assert {key.run >> NUMBER_BITS for key in made} == {clock.now()}
    assert len(await ledger_of(store, clock, job.id)) == 200


async def test_many_finishes_at_once_are_all_accepted(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock)
    await some_runs(store, clock, 200, job)
    runs = await lease(store, clock, node)

    answers = await asyncio.gather(
        *(
            store.runs.finish(node, [succeeded(run, clock)], now=clock.now())
            for run in [*runs, *runs]
        )
    )

    assert answers.count(Finished(1, 0, 0, None)) == 200
    assert answers.count(Finished(0, 1, 0, None)) == 200
    assert {each.status for each in await ledger_of(store, clock, job.id)} == {Status.SUCCEEDED}
    assert await store.runs.owned(node) == []


async def test_reading_and_writing_at_once_disturb_each_other_not(store, clock):
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(10))
    clock.advance(10 * SECOND)

    async def write() -> None:
        for _ in range(20):
            await a_run(store, clock, job)
            for run in await lease(store, clock, node):
                await store.runs.finish(node, [succeeded(run, clock)], now=clock.now())

    async def read() -> list[int]:
        return [len(await ledger_of(store, clock, job.id, page=7)) for _ in range(20)]

    counts, *_ = await asyncio.gather(read(), write(), write())

    assert counts == sorted(counts)
    views = await ledger_of(store, clock, job.id)
    assert [each.status for each in views] == [Status.SUCCEEDED] * 40


async def test_two_installations_have_different_ids(place, tmp_path_factory):
    here = await place.install(tmp_path_factory.mktemp("here"))
    there = await place.install(tmp_path_factory.mktemp("there"))

    assert await here.upkeep.installation() != await there.upkeep.installation()


async def test_an_installation_keeps_its_id(place):
    store = await place.open()
    before = await store.upkeep.installation()

    store = await place.reopen(store)

    assert await store.upkeep.installation() == before


async def test_a_store_that_is_opened_again_knows_everything(place, clock):
    store = await place.open()
    node = await a_node(store, clock)
    job = await a_job(store, clock, name="kept", schedule=every(60), tags=("a",))
    edited = await edit(store, clock, job, name="renamed")
    retried = await a_retry(store, clock, node, wait_us=DAY)
    running = await a_running_run(store, clock, node)
    await store.runs.cancel(running.job, running.run, now=clock.now())
    clock.advance(HOUR)
    before = [
        await store.jobs.page(before=None, limit=10),
        await store.nodes.all(),
        await store.runs.owned(node),
        await store.runs.signals(node),
        # Where it was read is the store's own business, and changes with every start.
        replace(await plan(store, clock), source=None),
        await ledger_of(store, clock, retried.job),
        await ledger_of(store, clock, running.job),
        await store.ledger.overview(limit=10, now=clock.now()),
    ]

    store = await place.reopen(store)

    assert [
        await store.jobs.page(before=None, limit=10),
        await store.nodes.all(),
        await store.runs.owned(node),
        await store.runs.signals(node),
        # Where it was read is the store's own business, and changes with every start.
        replace(await plan(store, clock), source=None),
        await ledger_of(store, clock, retried.job),
        await ledger_of(store, clock, running.job),
        await store.ledger.overview(limit=10, now=clock.now()),
    ] == before
    assert edited in before[0]


async def test_work_goes_on_in_a_store_that_is_opened_again(place, clock):
    store = await place.open()
    node = await a_node(store, clock)
    job = await a_job(store, clock, schedule=every(60))
    clock.advance(60 * SECOND)
    [run] = await claim(store, clock, node)
    retried = await a_retry(store, clock, node, wait_us=SECOND)

    store = await place.reopen(store)
    horizon = clock.now() + SECOND
    clock.advance(60 * SECOND)
    finished = await store.runs.finish(node, [succeeded(run, clock)], now=clock.now())

    assert finished == Finished(1, 0, 0, None)
    assert [each.due for each in await claim(store, clock, node)] == [clock.now()]
    assert [each.attempt for each in await promote(store, clock, node)] == [2]
    assert await status_of(store, clock, key_of(retried)) is Status.QUEUED
    assert (await standing_of(store, clock, job)).horizon == horizon + 60 * SECOND


async def test_numbers_go_on_rising_in_a_store_that_is_opened_again(place, clock):
    store = await place.open()
    node, job = await a_node(store, clock), await a_job(store, clock)
    held = await a_running_run(store, clock, node, job)
    await store.runs.release(node, [ref(held)], now=clock.now())

    store = await place.reopen(store)

    assert await a_node(store, clock) > node
    assert (await a_job(store, clock)).id > job.id
    assert (await lease(store, clock, node))[0].fence > held.fence
    assert (await a_run(store, clock, job)).run != held.run


async def test_a_receipt_is_honoured_by_a_store_that_is_opened_again(place, clock):
    store = await place.open()
    made = await store.jobs.create(a_definition(), now=clock.now(), receipt=a_receipt())

    store = await place.reopen(store)
    again = await store.jobs.create(a_definition(), now=clock.now(), receipt=a_receipt())

    assert again.repeat == f"job {made.job.id}, runs [] ✓"


async def test_what_was_asked_for_before_the_close_is_done(place, clock):
    store = await place.open()
    job = await a_job(store, clock)
    asked = [asyncio.ensure_future(a_run(store, clock, job)) for _ in range(50)]
    await asyncio.sleep(0)  # one turn of the loop, in which each of them has been sent

    await place.close(store)
    made = await asyncio.gather(*asked)

    store = await place.open()
    assert {each.run for each in await ledger_of(store, clock, job.id)} == {key.run for key in made}
    assert len(made) == 50
