"""The tzdata_sync records the zones in use, follows newer data, and lets the clock follow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest

from onthedot.core.instants import HOUR, SECOND
from onthedot.core.schedules import Cron, zones
from onthedot.core.schedules.zones import Offsets, own_offsets
from onthedot.core.zoning import AGAIN_US, KnownZone, years_around
from onthedot.errors import StoreUnavailable
from onthedot.roles.tzdata_sync import LOOK_S, TzdataSync
from onthedot.store.contract import Store
from tests.support.builders import a_job, a_node, claim
from tests.support.clock import START, ManualClock
from tests.support.roles import Failing, FaultyStore

DUBAI = "Asia/Dubai"
YEARS = years_around(START)
TRUE = own_offsets(DUBAI, *YEARS)
OLD = Offsets(*YEARS, ((YEARS[0], 3 * 3600),))


@pytest.fixture(autouse=True)
def _own_zones() -> Iterator[None]:
    yield
    zones.prefer({})


async def a_daily_job(store: Store, clock: ManualClock) -> int:
    schedule = Cron.parse("0 9 * * *", DUBAI)
    return (await a_job(store, clock, schedule=schedule, timezone=DUBAI)).id


async def test_a_zone_is_recorded_when_a_job_is_due_in_it(store, clock):
    keeper = TzdataSync(store, clock, "2026b")
    await keeper.step()
    await a_daily_job(store, clock)

    pause_s = await keeper.step()
    clock.advance(int(LOOK_S * SECOND))
    await keeper.step()

    assert pause_s == LOOK_S
    assert await store.zones.all() == [KnownZone(DUBAI, "2026b", TRUE)]


async def test_a_timer_that_comes_early_by_a_hair_leads_to_one_round_of_questions(store, clock):
    faulty = FaultyStore(store)
    keeper = TzdataSync(faulty, clock, "2026b")
    await keeper.step()
    before = faulty.calls.copy()

    clock.advance(int(LOOK_S * SECOND) - SECOND // 1_000)
    pause_s = await keeper.step()

    assert pause_s == pytest.approx(LOOK_S)
    assert faulty.calls["zones.all"] == before["zones.all"] + 1


async def test_who_starts_with_a_newer_release_moves_what_comes_and_tells_the_scheduler(
    store, clock, caplog
):
    zones.prefer({DUBAI: OLD})
    job = await a_daily_job(store, clock)
    await store.zones.record([KnownZone(DUBAI, "2026a", OLD)], (), now=START)
    zones.prefer({})
    told = []
    caplog.set_level("INFO")
    keeper = TzdataSync(store, clock, "2026b")
    keeper.on_moves = lambda: told.append(True)

    await keeper.look()
    for _ in range(20):
        await keeper.step()

    (move,) = await store.zones.moves(limit=10)
    assert (move.job, move.old, move.new) == (job, START + 6 * HOUR, START + 5 * HOUR)
    assert told == [True]
    said = caplog.text
    assert "zone.changed zone=Asia/Dubai release=2026b was=2026a" in said
    assert "zone.moved zone=Asia/Dubai jobs=1" in said


async def test_an_older_node_says_so_and_works_by_what_the_store_knows(store, clock, caplog):
    node = await a_node(store, clock)
    await store.zones.record([KnownZone(DUBAI, "2026c", OLD)], (), now=START)
    keeper = TzdataSync(store, clock, "2026b")

    await keeper.look()
    await keeper.look()
    await a_daily_job(store, clock)
    clock.advance(5 * HOUR)
    early = await claim(store, clock, node)
    clock.advance(HOUR)

    assert early == []
    assert len(await claim(store, clock, node)) == 1
    assert caplog.text.count("zone.older zone=Asia/Dubai ours=2026b") == 1
    assert await store.zones.all() == [KnownZone(DUBAI, "2026c", OLD)]


async def test_two_nodes_of_different_releases_never_undo_each_others_changes(store, clock):
    await a_daily_job(store, clock)
    older, newer = TzdataSync(store, clock, "2026a"), TzdataSync(store, clock, "2026b")
    await store.zones.record([KnownZone(DUBAI, "2025z", OLD)], (), now=START)

    for _ in range(5):
        await older.look()
        await newer.look()
        clock.advance(AGAIN_US)

    (row,) = await store.zones.all()
    assert (row.release, row.offsets) == ("2026b", TRUE)
    assert row.told_at is not None
    assert row.told_at <= START


async def test_between_two_looks_it_only_sees_to_what_is_pending(store, clock):
    keeper = TzdataSync(store, clock, "2026b")
    await keeper.step()
    clock.advance(int(LOOK_S * SECOND) // 2)

    assert await keeper.step() == LOOK_S / 2


@pytest.mark.parametrize("verb", ["used", "all", "record", "remake"])
@pytest.mark.parametrize("after", [False, True], ids=["before it acts", "with its answer lost"])
@pytest.mark.parametrize("nth", [1, 9])
async def test_who_dies_at_any_call_leaves_the_rest_to_the_next_and_nothing_moves_twice(
    store, clock, verb, after, nth
):
    """Nine calls later the moves are under way, shard by shard."""
    zones.prefer({DUBAI: OLD})
    jobs = {await a_daily_job(store, clock) for _ in range(20)}
    await store.zones.record([KnownZone(DUBAI, "2026a", OLD)], (), now=START)
    zones.prefer({})
    faulty = FaultyStore(store)
    keeper = TzdataSync(faulty, clock, "2026b")
    with suppress(StoreUnavailable):
        for _ in range(nth - 1):
            await keeper.step()
        faulty.on(f"zones.{verb}", Failing(StoreUnavailable("gone"), after=after))
        clock.advance(int(LOOK_S * SECOND))
        await keeper.step()

    successor = TzdataSync(store, clock, "2026b")
    for _ in range(20):
        await successor.step()

    moves = await store.zones.moves(limit=100)
    assert {move.job for move in moves} == jobs
    assert len(moves) == len(jobs)
    assert {move.new for move in moves} == {START + 5 * HOUR}
    assert {(await store.jobs.get(job)).version for job in jobs} == {2}
