"""Definitions: made, read, listed, edited; keys and versions."""

from __future__ import annotations

import asyncio

import pytest

from onthedot.core import editing
from onthedot.core.instants import HOUR, MINUTE, SECOND
from onthedot.core.model import Backoff, Job, Once
from onthedot.core.schedules import Cron
from onthedot.errors import KeyTaken, NeverFires, NotFound, VersionConflict
from tests.support.builders import (
    ALL_SHARDS,
    PLENTY,
    a_definition,
    a_job,
    a_node,
    claim,
    delete,
    edit,
    editing_to,
    every,
    ledger_of,
    pause,
    promote,
    resume,
)

UNKNOWN = 999_999


async def test_a_new_job_is_version_one_anchored_at_its_creation(store, clock):
    definition = a_definition(schedule=every(60))

    made = await store.jobs.create(definition, now=clock.now())

    assert (made.run, made.repeat) == (None, None)
    assert made.job == Job(
        id=made.job.id,
        version=1,
        definition=definition,
        anchor=clock.now(),
        since=clock.now(),
        created_at=clock.now(),
        updated_at=clock.now(),
    )
    assert await store.jobs.get(made.job.id) == made.job


async def test_every_field_of_a_definition_is_read_back_as_it_was_written(store, clock):
    definition = a_definition(
        name="Zürich – nightly 🌙",
        handler_url="https://example.com/hook?a=1&b=ü",
        schedule=Cron.parse("30 2 * * 1-5", "Europe/Zurich"),
        timezone="Europe/Zurich",
        payload='{"text": "it\'s \\"quoted\\"", "n": 1e3}',
        key="billing/nightly",
        namespace="billing",
        owner="ops@example.com",
        timeout_us=1_500_000,
        retries=0,
        backoff=Backoff(initial_us=250_000, factor=1.5, max_us=MINUTE),
        queue="slow",
        priority=0,
        guarantee="at_most_once",
        catch_up="none",
        catch_up_window_us=HOUR,
        overlap="skip",
        tags=("finance", "ünïcode"),
        paused=True,
    )

    made = await store.jobs.create(definition, now=clock.now())

    assert (await store.jobs.get(made.job.id)).definition == definition


async def test_jobs_have_numbers_of_their_own(store, clock):
    jobs = [await a_job(store, clock) for _ in range(5)]

    assert len({job.id for job in jobs}) == 5
    assert all(job.id > 0 for job in jobs)


async def test_the_number_of_a_deleted_job_is_not_given_again(store, clock):
    gone = await a_job(store, clock)
    await delete(store, clock, gone)

    job = await a_job(store, clock)

    assert job.id > gone.id


async def test_an_unknown_job_is_not_found(store, clock):
    with pytest.raises(NotFound):
        await store.jobs.get(UNKNOWN)
    with pytest.raises(NotFound):
        await store.jobs.change(UNKNOWN, editing.delete, now=clock.now())


async def test_jobs_are_listed_newest_first_in_pages_without_gaps_or_repeats(store, clock):
    jobs = [await a_job(store, clock, name=f"job {n}") for n in range(7)]

    pages, before = [], None
    while page := await store.jobs.page(before=before, limit=3):
        pages.append(page)
        before = page[-1].id

    assert [len(page) for page in pages] == [3, 3, 1]
    assert [job for page in pages for job in page] == sorted(
        jobs, key=lambda job: job.id, reverse=True
    )


async def test_an_edit_is_a_new_version(store, clock):
    job = await a_job(store, clock, schedule=every(60))
    clock.advance(SECOND)

    edited = await edit(store, clock, job, name="renamed", priority=1)

    assert (edited.id, edited.version) == (job.id, 2)
    assert (edited.created_at, edited.updated_at) == (job.created_at, clock.now())
    assert (edited.definition.name, edited.definition.priority) == ("renamed", 1)
    assert await store.jobs.get(job.id) == edited


async def test_an_edit_of_the_expected_version_is_made(store, clock):
    job = await a_job(store, clock)
    await edit(store, clock, job, name="second")

    edited = await store.jobs.change(job.id, editing_to(name="third"), now=clock.now(), expected=2)

    assert (edited.version, edited.definition.name) == (3, "third")


async def test_an_edit_of_another_version_than_expected_changes_nothing(store, clock):
    job = await a_job(store, clock, schedule=every(60))
    current = await edit(store, clock, job, name="second")

    with pytest.raises(VersionConflict):
        await store.jobs.change(job.id, editing_to(name="third"), now=clock.now(), expected=1)
    with pytest.raises(VersionConflict):
        await store.jobs.change(job.id, editing.delete, now=clock.now(), expected=3)

    assert await store.jobs.get(job.id) == current


async def test_a_decision_that_refuses_changes_nothing(store, clock):
    job = await a_job(store, clock, schedule=every(60))
    until = clock.now() + HOUR
    before = await store.clock.peek(ALL_SHARDS, until=until, limit=PLENTY)

    def refuse(current: editing.CurrentJob) -> editing.Change:
        raise NeverFires("not this one")

    with pytest.raises(NeverFires):
        await store.jobs.change(job.id, refuse, now=clock.now())

    assert await store.jobs.get(job.id) == job
    assert await store.clock.peek(ALL_SHARDS, until=until, limit=PLENTY) == before


async def test_a_decision_that_there_is_nothing_to_change_leaves_the_job_as_it_is(store, clock):
    job = await a_job(store, clock, schedule=every(60))

    assert await store.jobs.change(job.id, lambda current: None, now=clock.now()) == job
    assert await store.jobs.get(job.id) == job


async def test_a_key_belongs_to_one_job_of_a_namespace(store, clock):
    await a_job(store, clock, key="nightly")

    with pytest.raises(KeyTaken):
        await a_job(store, clock, key="nightly")

    elsewhere = await a_job(store, clock, key="nightly", namespace="billing")
    assert len(await store.jobs.page(before=None, limit=10)) == 2
    assert elsewhere.definition.key == "nightly"


async def test_a_refused_job_leaves_no_entry_in_the_clock(store, clock):
    await a_job(store, clock, key="nightly")

    with pytest.raises(KeyTaken):
        await a_job(store, clock, key="nightly", schedule=every(60))

    peeked = await store.clock.peek(ALL_SHARDS, until=clock.now() + HOUR, limit=PLENTY)
    assert peeked.entries == []


async def test_jobs_without_a_key_do_not_collide(store, clock):
    first, second = await a_job(store, clock), await a_job(store, clock)

    assert first.definition == second.definition
    assert first.id != second.id


async def test_a_deleted_job_frees_its_key(store, clock):
    gone = await a_job(store, clock, key="nightly")
    await delete(store, clock, gone)

    job = await a_job(store, clock, key="nightly")

    assert job.id != gone.id
    assert (await store.jobs.get(job.id)).definition.key == "nightly"


async def test_an_edit_cannot_take_the_key_of_another_job(store, clock):
    await a_job(store, clock, key="nightly")
    job = await a_job(store, clock, key="hourly", schedule=every(60))

    with pytest.raises(KeyTaken):
        await edit(store, clock, job, key="nightly")

    assert await store.jobs.get(job.id) == job


async def test_an_edit_moves_a_key(store, clock):
    job = await a_job(store, clock, key="nightly")

    kept = await edit(store, clock, job, name="renamed")
    moved = await edit(store, clock, job, key="hourly")
    successor = await a_job(store, clock, key="nightly")

    assert (kept.definition.key, moved.definition.key) == ("nightly", "hourly")
    assert successor.definition.key == "nightly"
    with pytest.raises(KeyTaken):
        await a_job(store, clock, key="hourly")


async def test_an_edit_moves_a_key_to_another_namespace(store, clock):
    job = await a_job(store, clock, key="nightly")

    await edit(store, clock, job, namespace="billing")

    with pytest.raises(KeyTaken):
        await a_job(store, clock, key="nightly", namespace="billing")
    successor = await a_job(store, clock, key="nightly")
    assert successor.id != job.id


async def test_a_pause_is_remembered_with_its_beginning(store, clock):
    job = await a_job(store, clock, schedule=every(60))
    clock.advance(90 * SECOND)

    paused = await pause(store, clock, job)

    assert paused.definition.paused
    assert paused.skipping_from == clock.now()
    assert await store.jobs.get(job.id) == paused


async def test_a_resumed_job_remembers_no_pause(store, clock):
    job = await a_job(store, clock, schedule=every(60), paused=True)
    clock.advance(SECOND)

    resumed = await resume(store, clock, job)

    assert (resumed.version, resumed.skipping_from) == (2, None)
    assert resumed.anchor == job.anchor
    assert await ledger_of(store, clock, job.id) == []


async def test_those_who_create_at_the_same_time_get_what_each_asked_for(store, clock):
    then = [clock.now() + number for number in range(20)]
    keys = [None, "a", None, "b", "a", *[None] * 15]
    asked = [
        a_definition(name=f"job {number}", key=key, schedule=every(60 + number))
        for number, key in enumerate(keys)
    ]

    made = await asyncio.gather(
        *(
            store.jobs.create(definition, now=now)
            for definition, now in zip(asked, then, strict=True)
        ),
        return_exceptions=True,
    )

    refused = [number for number, each in enumerate(made) if isinstance(each, KeyTaken)]
    assert refused in ([1], [4])
    assert sum(isinstance(each, BaseException) for each in made) == 1
    for number, each in enumerate(made):
        if not isinstance(each, BaseException):
            assert (each.job.definition, each.job.created_at) == (asked[number], then[number])
            assert await store.jobs.get(each.job.id) == each.job
    due = await store.clock.peek(ALL_SHARDS, until=clock.now() + HOUR, limit=PLENTY)
    assert len(due.entries) == 19


async def test_many_jobs_are_made_at_once_each_as_if_it_were_alone(store, clock):
    node = await a_node(store, clock)
    definitions = [
        a_definition(name="recurring", schedule=every(10)),
        a_definition(name="once", schedule=Once(clock.now() + 10 * SECOND)),
        a_definition(name="triggered"),
        a_definition(name="paused", schedule=every(10), paused=True),
    ]

    numbers = await store.jobs.create_many(definitions, now=clock.now())
    clock.advance(10 * SECOND)
    runs = await claim(store, clock, node) + await promote(store, clock, node)

    assert [(await store.jobs.get(number)).definition for number in numbers] == definitions
    assert [run.job for run in runs] == numbers[:2]


async def test_a_job_that_is_made_with_many_others_ends_after_its_last_run(store, clock):
    node = await a_node(store, clock)
    definition = a_definition(schedule=every(10), max_runs=1)

    await store.jobs.create_many([definition], now=clock.now())
    clock.advance(MINUTE)
    runs = await claim(store, clock, node)

    assert len(runs) == 1


async def test_many_jobs_with_one_key_are_refused(store, clock):
    with pytest.raises(KeyTaken):
        await store.jobs.create_many([a_definition(key="one")] * 2, now=clock.now())


async def test_many_jobs_are_made_all_or_none(store, clock):
    await a_job(store, clock, key="taken")
    definitions = [a_definition(key="free"), a_definition(key="taken")]

    with pytest.raises(KeyTaken):
        await store.jobs.create_many(definitions, now=clock.now())

    assert [job.definition.key for job in await store.jobs.page(before=None, limit=9)] == ["taken"]


async def test_no_jobs_are_made_of_nothing(store, clock):
    assert await store.jobs.create_many([], now=clock.now()) == []


async def test_a_schedule_of_jobs_that_were_refused_is_none_that_others_could_share(store, clock):
    node = await a_node(store, clock)
    definition = a_definition(schedule=every(10))
    with pytest.raises(KeyTaken):
        await store.jobs.create_many([definition._replace(key="one")] * 2, now=clock.now())

    await store.jobs.create_many([definition], now=clock.now())
    await store.jobs.create_many([definition], now=clock.now())
    clock.advance(10 * SECOND)

    assert len(await claim(store, clock, node)) == 2
