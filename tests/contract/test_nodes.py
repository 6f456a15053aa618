"""Who is there: numbers rise, heartbeats prolong, and death is never taken back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onthedot.core.instants import HOUR, SECOND
from onthedot.core.model import CALLBACKS
from onthedot.core.views import Load, NodeView
from onthedot.errors import NodeDead
from tests.support.builders import a_node, facts, kill, prune


async def test_every_node_has_a_higher_number_than_the_one_before(store, clock):
    numbers = [await a_node(store, clock) for _ in range(3)]

    assert numbers == sorted(set(numbers))
    assert numbers[0] > 0


async def test_the_number_of_a_forgotten_node_is_not_given_again(store, clock):
    gone = [await a_node(store, clock) for _ in range(3)]
    await kill(store, clock, *gone)
    await store.runs.rescue(limit=10, now=clock.now())
    await prune(store, before=clock.advance(HOUR))

    node = await a_node(store, clock)

    assert [view.number for view in await store.nodes.all()] == [node]
    assert node > max(gone)


async def test_nodes_are_listed_newest_first_with_what_they_said(store, clock):
    first = facts("one", roles=("api",))
    second = facts("two", roles=("scheduler", "worker", "janitor"))
    second = replace(second, queues=("mail", "reports"))
    joined = clock.now()
    numbers = [await store.nodes.join(each, now=joined) for each in (first, second)]
    beat = clock.advance(3 * SECOND)
    await store.nodes.beat(numbers[0], now=beat)

    nodes = await store.nodes.all()

    assert nodes == [
        NodeView(number=numbers[1], facts=second, joined_at=joined, beat_at=joined, dead=False),
        NodeView(number=numbers[0], facts=first, joined_at=joined, beat_at=beat, dead=False),
    ]


async def test_a_node_that_has_not_beaten_yet_has_no_load(store, clock):
    await a_node(store, clock)

    [view] = await store.nodes.all()

    assert view.load == Load(running=0, held=0, offset_us=0)


async def test_a_heartbeat_carries_the_load_and_the_next_one_replaces_it(store, clock):
    busy, other = await a_node(store, clock), await a_node(store, clock)
    await store.nodes.beat(busy, now=clock.now(), load=Load(100, 250, -1_500))
    await store.nodes.beat(busy, now=clock.now(), load=Load(7, 20_000, 3_000_000_000, False))

    loads = {view.number: view.load for view in await store.nodes.all()}

    assert loads == {busy: Load(7, 20_000, 3_000_000_000, False), other: Load()}


async def test_a_clock_that_was_set_back_does_not_keep_the_load_from_being_told(store, clock):
    node = await a_node(store, clock)
    await store.nodes.beat(node, now=clock.advance(HOUR), load=Load(1, 2, 3))
    beat = clock.now()

    await store.nodes.beat(node, now=clock.set_back(HOUR), load=Load(4, 5, 6))

    [view] = await store.nodes.all()
    assert view.load == Load(4, 5, 6)
    assert view.beat_at > beat


async def test_the_load_of_the_dead_is_not_changed_any_more(store, clock):
    node = await a_node(store, clock)
    await store.nodes.beat(node, now=clock.now(), load=Load(1, 2, 3))
    await kill(store, clock, node)

    with pytest.raises(NodeDead):
        await store.nodes.beat(node, now=clock.now(), load=Load(9, 9, 9))

    [view] = await store.nodes.all()
    assert view.load == Load(1, 2, 3)


async def test_a_beat_tells_the_live_schedulers_by_number(store, clock):
    schedulers = [
        await store.nodes.join(facts(roles=roles), now=clock.now())
        for roles in (("scheduler",), ("api", "scheduler"), ("scheduler", "worker"))
    ]
    worker = await store.nodes.join(facts(roles=("worker", "api")), now=clock.now())
    await kill(store, clock, schedulers[1])

    beat = await store.nodes.beat(worker, now=clock.now())

    assert beat.schedulers == (schedulers[0], schedulers[2])


async def test_the_silent_are_buried_and_those_just_heard_of_are_not(store, clock):
    joined = clock.now()
    silent, talking = await a_node(store, clock), await a_node(store, clock)
    clock.advance(SECOND)
    await store.nodes.beat(talking, now=clock.now())
    clock.advance(HOUR)

    early = await store.nodes.declare_dead(silent_before=joined, now=clock.now())
    dead = await store.nodes.declare_dead(silent_before=joined + 1, now=clock.now())

    assert early == []
    assert dead == [silent]
    assert {view.number: view.dead for view in await store.nodes.all()} == {
        silent: True,
        talking: False,
    }


async def test_those_known_to_be_gone_are_buried_however_lately_they_were_heard_of(store, clock):
    gone, alive = await a_node(store, clock), await a_node(store, clock)

    dead = await store.nodes.declare_dead(silent_before=0, gone=[gone], now=clock.now())

    assert dead == [gone]
    assert (await store.nodes.beat(alive, now=clock.now())).schedulers == (alive,)


async def test_a_node_is_buried_once(store, clock):
    gone = await a_node(store, clock)
    await kill(store, clock, gone)
    clock.advance(HOUR)

    again = await store.nodes.declare_dead(silent_before=clock.now(), gone=[gone], now=clock.now())

    assert again == []


async def test_the_silent_and_the_gone_are_buried_together_and_told_once(store, clock):
    both, silent = await a_node(store, clock), await a_node(store, clock)
    clock.advance(HOUR)
    gone, alive = await a_node(store, clock), await a_node(store, clock)

    dead = await store.nodes.declare_dead(
        silent_before=clock.now(), gone=[gone, both, alive + 1_000], now=clock.now()
    )

    assert sorted(dead) == [both, silent, gone]
    assert not (await store.nodes.all())[0].dead


async def test_the_dead_stay_dead(store, clock):
    node = await a_node(store, clock)
    await kill(store, clock, node)

    with pytest.raises(NodeDead):
        await store.nodes.beat(node, now=clock.now())

    [view] = await store.nodes.all()
    assert view.dead
    with pytest.raises(NodeDead):
        await store.nodes.beat(node, now=clock.now())


async def test_a_node_that_said_farewell_is_dead(store, clock):
    node, other = await a_node(store, clock), await a_node(store, clock)

    await store.nodes.leave(node, now=clock.now())

    with pytest.raises(NodeDead):
        await store.nodes.beat(node, now=clock.now())
    assert (await store.nodes.beat(other, now=clock.now())).schedulers == (other,)
    assert await store.nodes.declare_dead(silent_before=0, gone=[node], now=clock.now()) == []


async def test_a_forgotten_node_is_still_dead(store, clock):
    node = await a_node(store, clock)
    await kill(store, clock, node)
    await store.runs.rescue(limit=10, now=clock.now())
    assert await prune(store, before=clock.advance(HOUR)) == 1

    with pytest.raises(NodeDead):
        await store.nodes.beat(node, now=clock.now())
    with pytest.raises(NodeDead):
        await store.runs.lease(node, CALLBACKS, limit=1, now=clock.now())
