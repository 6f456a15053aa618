"""A node among the others: heartbeats, shards, and what an old heartbeat forbids."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from onthedot.clock import DatabaseClock
from onthedot.core.instants import MILLISECOND, SECOND
from onthedot.core.model import SHARDS
from onthedot.core.recovery import BEAT_S
from onthedot.errors import NodeDead, StoreUnavailable
from onthedot.roles.membership import Membership
from onthedot.store.contract import Store
from tests.support.builders import ALL_SHARDS, facts, kill
from tests.support.clock import START, ManualClock
from tests.support.roles import Failing, FaultyStore, Stuck, telling


async def a_member(store: Store, clock: ManualClock, **fields: Any) -> Membership:
    number = await store.nodes.join(facts(**fields), now=clock.now())
    return Membership(store, clock, number=number, joined_sent=clock.monotonic())


async def beat_for(clock: ManualClock, seconds: int, *members: Membership) -> None:
    for _ in range(0, seconds, 3):
        clock.advance(3 * SECOND)
        for member in members:
            await member.step()


# Heartbeats


async def test_a_heartbeat_is_seen_by_the_others(store, clock):
    member = await a_member(store, clock)

    clock.advance(3 * SECOND)
    pause = await member.step()

    [seen] = await store.nodes.all()
    assert (seen.number, seen.beat_at, seen.dead) == (member.number, START + 3 * SECOND, False)
    assert pause == BEAT_S


async def test_a_node_may_start_for_twelve_seconds_after_a_heartbeat(store, clock):
    member = await a_member(store, clock)

    clock.advance(12 * SECOND - 1)
    in_time = member.may_start()
    clock.advance(1)

    assert in_time
    assert not member.may_start()


async def test_a_heartbeat_that_gets_no_answer_is_given_up_in_time_for_another(
    store, faulty, clock
):
    member = await a_member(faulty, clock)
    faulty.on("nodes.beat", Stuck())

    with pytest.raises(StoreUnavailable, match="within 4 s"):
        await member.step()
    await member.step()

    assert clock.now() == pytest.approx(START + 4 * SECOND, abs=1_000)
    assert member.may_start()


async def test_a_store_that_is_merely_slow_gets_its_heartbeats_all_the_same(store, faulty, clock):
    """Six seconds for each answer: the node lives, without a pause in what it may do."""
    member = await a_member(faulty, clock)
    faulty.on("nodes.beat", slowly)

    with pytest.raises(StoreUnavailable):
        await member.step()
    for _ in range(5):
        await member.step()
        assert member.may_start()


async def slowly(verb: Any, *args: Any, **kwargs: Any) -> Any:
    await asyncio.sleep(6)
    return await verb(*args, **kwargs)


async def test_a_heartbeat_counts_from_when_it_was_sent_not_from_its_answer(store, faulty, clock):
    member = await a_member(faulty, clock)
    slow = Stuck(after=True)
    faulty.on("nodes.beat", slow)
    clock.advance(SECOND)
    step = asyncio.create_task(member.step())
    await slow.reached.wait()

    clock.advance(11 * SECOND)
    slow.go.set()
    await step
    just_in_time = member.may_start()
    clock.advance(SECOND)

    assert just_in_time
    assert not member.may_start()  # it was sent twelve seconds ago


async def test_a_heartbeat_that_failed_prolongs_nothing(store, faulty, clock):
    member = await a_member(faulty, clock)
    faulty.on("nodes.beat", Failing(StoreUnavailable("gone")))

    clock.advance(12 * SECOND)
    with pytest.raises(StoreUnavailable):
        await member.step()

    assert not member.may_start()


async def test_the_heartbeat_of_a_dead_node_raises_node_dead(store, clock):
    member = await a_member(store, clock)
    await kill(store, clock, member.number)

    with pytest.raises(NodeDead):
        await member.step()


# Shards


async def test_a_node_that_is_alone_looks_after_every_shard(store, clock):
    member = await a_member(store, clock)

    assert member.shards == ALL_SHARDS


async def test_the_shards_follow_the_members(store, clock):
    members = [await a_member(store, clock) for _ in range(3)]
    await beat_for(clock, 3, *members)
    three = [member.shards for member in members]

    await kill(store, clock, members[1].number)
    left = [members[0], members[2]]
    await beat_for(clock, 3, *left)

    assert sorted(shard for shards in three for shard in shards) == list(range(SHARDS))
    assert left[0].shards | left[1].shards == ALL_SHARDS
    assert not left[0].shards & left[1].shards


async def test_a_node_without_the_scheduler_role_takes_no_shard_from_the_others(store, clock):
    member = await a_member(store, clock)
    await a_member(store, clock, roles=("worker",))

    await member.step()

    assert member.shards == ALL_SHARDS


# Judging


async def test_nobody_is_judged_before_the_store_has_answered_for_a_whole_lease(store, clock):
    member = await a_member(store, clock)
    await beat_for(clock, 12, member)
    early = member.may_judge()

    await beat_for(clock, 3, member)

    assert not early
    assert member.may_judge()


async def test_an_outage_begins_the_waiting_anew(store, faulty, clock):
    member = await a_member(faulty, clock)
    await beat_for(clock, 15, member)
    faulty.on("nodes.beat", Failing(StoreUnavailable("gone"), times=1))
    with pytest.raises(StoreUnavailable):
        await member.step()

    await beat_for(clock, 15, member)
    early = member.may_judge()
    await beat_for(clock, 3, member)

    assert not early
    assert member.may_judge()


async def test_an_outage_in_which_calls_hang_begins_the_waiting_anew(store, faulty, clock):
    member = await a_member(faulty, clock)
    await beat_for(clock, 15, member)
    hanging = Stuck()
    faulty.on("nodes.beat", hanging)
    step = asyncio.create_task(member.step())
    await hanging.reached.wait()

    clock.advance(20 * SECOND)  # the database neither answers nor refuses
    hanging.go.set()
    await step
    await beat_for(clock, 3, member)

    assert member.may_start()
    assert not member.may_judge()


async def test_a_node_whose_own_heartbeat_is_old_judges_nobody(store, clock):
    member = await a_member(store, clock)
    await beat_for(clock, 15, member)

    clock.advance(12 * SECOND)

    assert not member.may_judge()


# The clock of the database


@pytest.mark.parametrize(
    ("offset_us", "may_start"),
    [
        (0, True),
        (600 * MILLISECOND, True),
        (4_999 * MILLISECOND, True),
        (5 * SECOND, False),
        (-5 * SECOND, False),
    ],
)
async def test_a_machine_whose_clock_is_five_seconds_off_starts_nothing(
    faulty: FaultyStore, clock, offset_us, may_start
):
    database = DatabaseClock(clock)
    database.observe(clock.now() + offset_us)
    number = await faulty.nodes.join(facts(), now=clock.now())
    member = Membership(faulty, database, number=number, joined_sent=clock.monotonic())
    faulty.on("nodes.time", telling(clock, offset_us))

    await member.step()

    assert member.may_start() is may_start


async def test_a_machine_whose_clock_was_corrected_starts_again(faulty: FaultyStore, clock):
    database = DatabaseClock(clock)
    database.observe(clock.now() - 6 * SECOND)
    number = await faulty.nodes.join(facts(), now=clock.now())
    member = Membership(faulty, database, number=number, joined_sent=clock.monotonic())
    faulty.on("nodes.time", telling(clock, -6 * SECOND))
    await member.step()
    refused = member.may_start()

    faulty.on("nodes.time", telling(clock, 0))
    await member.step()

    assert not refused
    assert member.may_start()


async def test_the_shards_of_a_node_that_may_not_start_are_looked_after_by_the_others(
    faulty: FaultyStore, clock
):
    database = DatabaseClock(clock)
    number = await faulty.nodes.join(facts(), now=clock.now())
    faulty.on("nodes.time", telling(clock, 6 * SECOND))
    database.observe(clock.now() + 6 * SECOND)
    off = Membership(faulty, database, number=number, joined_sent=clock.monotonic())
    sound = await a_member(faulty, clock)

    await beat_for(clock, 9, off, sound)

    assert not off.may_start()
    assert sound.shards == ALL_SHARDS
