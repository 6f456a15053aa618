"""Reading the clock: which entries a scheduler sees, in which order, with which cuts and rules."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest

from onthedot.core.instants import DAY, SECOND
from onthedot.core.model import Cut, Once, rule_of
from onthedot.core.schedules import Cron
from tests.support.builders import (
    ALL_SHARDS,
    PLENTY,
    a_job,
    a_node,
    a_run,
    claim,
    delete,
    edit,
    every,
    jobs_in_every_shard,
    lease,
)


async def test_an_entry_is_seen_from_its_due_instant_on(store, clock):
    job = await a_job(store, clock, schedule=every(60))
    due = clock.now() + 60 * SECOND

    before = await store.clock.peek(ALL_SHARDS, until=due - 1, limit=PLENTY)
    at = await store.clock.peek(ALL_SHARDS, until=due, limit=PLENTY)

    assert before.entries == []
    [entry] = at.entries
    assert (entry.job, entry.version, entry.due, entry.shard) == (job.id, 1, due, job.shard)


async def test_entries_come_oldest_first_within_each_shard(store, clock):
    for seconds in range(48, 0, -1):
        await a_job(store, clock, schedule=every(seconds))

    peeked = await store.clock.peek(ALL_SHARDS, until=clock.now() + DAY, limit=PLENTY)

    assert len(peeked.entries) == 48
    by_shard = sorted(peeked.entries, key=lambda entry: entry.shard)  # stable: keeps their order
    for _, entries in groupby(by_shard, key=lambda entry: entry.shard):
        dues = [entry.due for entry in entries]
        assert dues == sorted(dues)


async def test_a_peek_stays_within_its_limit(store, clock):
    for _ in range(20):
        await a_job(store, clock, schedule=every(1))

    peeked = await store.clock.peek(ALL_SHARDS, until=clock.now() + SECOND, limit=7)

    assert 1 <= len(peeked.entries) <= 7


async def test_a_peek_says_whether_it_left_entries_out(store, clock):
    for _ in range(40):
        await a_job(store, clock, schedule=every(1))
    until = clock.now() + SECOND

    cut_short = await store.clock.peek(ALL_SHARDS, until=until, limit=7)
    whole = await store.clock.peek(ALL_SHARDS, until=until, limit=PLENTY)
    empty = await store.clock.peek(ALL_SHARDS, until=clock.now(), limit=7)

    assert cut_short.more
    assert len(whole.entries) == 40
    assert not whole.more
    assert not empty.more


async def test_a_peek_reads_only_the_shards_it_was_asked_for(store, clock):
    jobs = await jobs_in_every_shard(store, clock, schedule=every(1))

    peeked = await store.clock.peek(frozenset({3, 11}), until=clock.now() + SECOND, limit=PLENTY)

    assert {entry.shard for entry in peeked.entries} == {3, 11}
    assert {jobs[3].id, jobs[11].id} <= {entry.job for entry in peeked.entries}


async def test_a_peek_at_no_shards_finds_nothing(store, clock):
    await a_job(store, clock, schedule=every(1))

    peeked = await store.clock.peek(frozenset(), until=clock.now() + DAY, limit=PLENTY)

    assert (peeked.entries, peeked.cuts) == ([], [])


async def test_looking_changes_nothing(store, clock):
    await jobs_in_every_shard(store, clock, schedule=every(1))
    until = clock.now() + DAY

    first = await store.clock.peek(ALL_SHARDS, until=until, limit=PLENTY)
    again = await store.clock.peek(ALL_SHARDS, until=until, limit=PLENTY)

    assert len(first.entries) >= 16
    assert first == again


async def test_entries_added_behind_an_earlier_claim_are_found(store, clock):
    node = await a_node(store, clock)
    await jobs_in_every_shard(store, clock, schedule=every(5))
    await claim(store, clock, node, ahead=9 * SECOND)

    late = await jobs_in_every_shard(store, clock, schedule=every(1))
    peeked = await store.clock.peek(ALL_SHARDS, until=clock.now() + SECOND, limit=PLENTY)

    assert {job.id for job in late.values()} <= {entry.job for entry in peeked.entries}


async def test_whether_a_run_is_anybodys_is_told_with_the_clock_if_asked(store, clock):
    node = await a_node(store, clock)

    async def free(until):
        return (await store.clock.peek(ALL_SHARDS, until=until, limit=PLENTY, queue=True)).free

    assert await free(clock.now()) is False
    await a_run(store, clock)
    assert (await store.clock.peek(ALL_SHARDS, until=clock.now(), limit=PLENTY)).free is None
    assert (await free(clock.now() - 1), await free(clock.now())) == (False, True)
    await lease(store, clock, node)
    assert await free(clock.now()) is False


async def test_every_shard_gets_its_turn_however_busy_the_others_are(store, clock):
    node = await a_node(store, clock)
    for _ in range(3):
        await jobs_in_every_shard(store, clock, schedule=every(1))

    turns = set()
    for _ in range(64):  # three jobs a shard are due in every round, and only four are taken
        clock.advance(SECOND)
        turns |= {run.job % 16 for run in await claim(store, clock, node, limit=4)}

    assert turns == ALL_SHARDS


async def test_every_entry_of_a_shard_gets_its_turn(store, clock):
    node = await a_node(store, clock)
    jobs = [await a_job(store, clock, schedule=every(1)) for _ in range(48)]

    fired = set()
    for _ in range(64):
        clock.advance(SECOND)
        fired |= {run.job for run in await claim(store, clock, node, limit=4)}

    assert fired == {job.id for job in jobs}


async def test_the_cut_of_an_ended_version_comes_with_its_entry(store, clock):
    job = await a_job(store, clock, schedule=every(60))
    other = await a_job(store, clock, schedule=every(60))
    cut = clock.advance(10 * SECOND)
    await edit(store, clock, job, name="renamed")

    peeked = await store.clock.peek(ALL_SHARDS, until=clock.now() + DAY, limit=PLENTY)

    versions = [(entry.job, entry.version) for entry in peeked.entries]
    assert sorted(versions) == [(job.id, 1), (job.id, 2), (other.id, 1)]
    assert peeked.cuts == [Cut(job.id, 1, cut, deleted=False)]


async def test_the_cut_of_a_deleted_job_says_so(store, clock):
    job = await a_job(store, clock, schedule=every(60))
    cut = clock.advance(90 * SECOND)
    await delete(store, clock, job)

    peeked = await store.clock.peek(ALL_SHARDS, until=clock.now(), limit=PLENTY)

    assert [entry.job for entry in peeked.entries] == [job.id]
    assert peeked.cuts == [Cut(job.id, 1, cut, deleted=True)]


async def test_cuts_come_only_with_entries_that_are_due(store, clock):
    job = await a_job(store, clock, schedule=every(60))
    await edit(store, clock, job, name="renamed")

    peeked = await store.clock.peek(ALL_SHARDS, until=clock.now() + SECOND, limit=PLENTY)

    assert (peeked.entries, peeked.cuts) == ([], [])


@pytest.mark.parametrize("what", ["triggered only", "one-off", "paused"])
async def test_what_does_not_recur_has_no_entry(store, clock, what):
    fields: dict[str, dict[str, Any]] = {
        "triggered only": {},
        "one-off": {"schedule": Once(clock.now() + SECOND)},
        "paused": {"schedule": every(1), "paused": True},
    }
    await a_job(store, clock, **fields[what])

    peeked = await store.clock.peek(ALL_SHARDS, until=clock.now() + DAY, limit=PLENTY)

    assert peeked.entries == []


async def test_a_rule_is_read_back_as_the_job_says_it(store, clock):
    berlin = await a_job(
        store,
        clock,
        schedule=Cron.parse("30 2 * * *", "Europe/Berlin"),
        timezone="Europe/Berlin",
        queue="nightly",
        priority=9,
        catch_up="all",
        catch_up_window_us=7 * SECOND,
    )
    interval = await a_job(store, clock, schedule=every(90), catch_up="none")

    peeked = await store.clock.peek(ALL_SHARDS, until=clock.now() + 2 * DAY, limit=PLENTY)
    rules = await store.clock.rules([entry.rule for entry in peeked.entries])

    assert {entry.job: rules[entry.rule] for entry in peeked.entries} == {
        berlin.id: rule_of(berlin.definition),
        interval.id: rule_of(interval.definition),
    }


async def test_jobs_that_say_the_same_share_a_rule(store, clock):
    for name in ("one", "two"):
        await a_job(store, clock, name=name, schedule=every(60), payload=f'"{name}"')
    await a_job(store, clock, schedule=every(60), queue="other")

    peeked = await store.clock.peek(ALL_SHARDS, until=clock.now() + DAY, limit=PLENTY)

    assert len(peeked.entries) == 3
    assert len({entry.rule for entry in peeked.entries}) == 2


async def test_unknown_rules_are_left_out(store, clock):
    await a_job(store, clock, schedule=every(60))
    peeked = await store.clock.peek(ALL_SHARDS, until=clock.now() + DAY, limit=PLENTY)
    known = peeked.entries[0].rule

    rules = await store.clock.rules([known, known + 1_000])

    assert rules.keys() == {known}
    assert await store.clock.rules([]) == {}
