"""What runs say: lines, progress and checkpoints, written by whoever holds the run."""

from __future__ import annotations

import pytest

from onthedot.core.instants import DAY, MINUTE, SECOND
from onthedot.core.model import LeasedRun
from onthedot.core.views import Progress
from onthedot.errors import NodeDead
from onthedot.store.notes import LogCursor, RunNote
from tests.support.builders import (
    a_held_run,
    a_node,
    a_retry,
    finish,
    key_of,
    kill,
    lease,
    ledger_of,
    promote,
    prune,
    ref,
    view,
)


def a_note(run: LeasedRun, clock, number: int = 1, **said: str) -> RunNote:
    return RunNote(run.job, run.run, run.fence, run.attempt, number, clock.now(), **said)


async def lines(store, run, after: LogCursor | None = None, limit: int = 10) -> list[str]:
    return [row.lines for row in await store.notes.lines(*key_of(run), after=after, limit=limit)]


async def checkpoint(store, run) -> str | None:
    found: dict[tuple[int, int], str] = await store.notes.checkpoints([key_of(run)])
    return found.get(key_of(run))


async def test_what_runs_say_is_kept_in_order_and_each_run_has_its_own(store, clock):
    node = await a_node(store, clock)
    run, other = [await a_held_run(store, clock, node) for _ in range(2)]

    said = [a_note(run, clock, lines='[[1,"info","a ✓"]]'), a_note(other, clock, lines="[]")]
    assert await store.notes.add(node, said) == 2
    assert await store.notes.add(node, [a_note(run, clock, 2, lines='[[2,"info","b"]]')]) == 1

    rows = await store.notes.lines(*key_of(run), after=None, limit=10)
    assert [row.lines for row in rows] == ['[[1,"info","a ✓"]]', '[[2,"info","b"]]']
    assert [(row.attempt, row.number) for row in rows] == [(1, 1), (1, 2)]
    assert await lines(store, run, after=rows[0].place) == ['[[2,"info","b"]]']
    assert await lines(store, run, limit=1) == ['[[1,"info","a ✓"]]']
    assert await lines(store, run, after=rows[1].place) == []
    assert await lines(store, other) == ["[]"]


async def test_a_note_that_is_given_twice_is_written_once(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    note = a_note(run, clock, lines="[1]", checkpoint="7")

    assert [await store.notes.add(node, [note]) for _ in range(2)] == [1, 1]

    assert await lines(store, run) == ["[1]"]


async def test_lines_outlive_the_run_and_come_before_those_of_its_next_attempt(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    await store.notes.add(node, [a_note(run, clock, lines="[1]")])
    await store.runs.release(node, [ref(run)], now=clock.now())
    [again] = await lease(store, clock, node)
    await store.notes.add(node, [a_note(again, clock, lines="[2]")])

    await finish(store, clock, node, again)

    assert await lines(store, run) == ["[1]", "[2]"]


async def test_a_node_that_no_longer_holds_the_run_writes_nothing(store, clock):
    node, other = await a_node(store, clock), await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    ended = await a_held_run(store, clock, node)
    await finish(store, clock, node, ended)
    await store.runs.release(node, [ref(run)], now=clock.now())
    late = [a_note(each, clock, lines="[1]", checkpoint="1") for each in (run, ended)]

    assert await store.notes.add(node, late) == 0
    await lease(store, clock, other)
    assert await store.notes.add(node, late) == 0
    assert await store.notes.add(other, late[:1]) == 0

    assert await lines(store, run) == await lines(store, ended) == []
    assert await checkpoint(store, run) is None


async def test_a_dead_node_writes_nothing(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    await kill(store, clock, node)

    with pytest.raises(NodeDead):
        await store.notes.add(node, [a_note(run, clock, lines="[1]")])

    assert await lines(store, run) == []


async def test_the_last_checkpoint_is_there_for_the_next_attempt(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    await store.notes.add(node, [a_note(run, clock, checkpoint='{"page":1}')])
    await store.notes.add(node, [a_note(run, clock, 2, checkpoint='{"page":2}')])
    await store.notes.add(node, [a_note(run, clock, 3, progress='{"done":1}')])
    await store.runs.release(node, [ref(run)], now=clock.now())
    [again] = await lease(store, clock, node)

    assert await checkpoint(store, again) == '{"page":2}'
    assert await store.notes.checkpoints([(run.job, run.run + 1)]) == {}
    assert await store.notes.checkpoints([]) == {}


async def test_progress_is_that_of_the_attempt_that_is_under_way(store, clock):
    node = await a_node(store, clock)
    run = await a_held_run(store, clock, node)
    said = '{"done":3,"total":10,"text":"orders"}'
    await store.notes.add(node, [a_note(run, clock, progress=said, checkpoint="3")])

    assert (await view(store, clock, run)).progress == Progress(3, 10, "orders")
    [listed] = await ledger_of(store, clock, run.job)
    assert listed.progress == Progress(3, 10, "orders")
    story = await store.ledger.story(*key_of(run), now=clock.now())
    assert story.run.progress == Progress(3, 10, "orders")


async def test_a_new_attempt_begins_without_progress_and_what_it_says_is_kept(store, clock):
    node = await a_node(store, clock)
    run = await a_retry(store, clock, node)
    clock.advance(MINUTE)
    [again] = await promote(store, clock, node)
    assert (again.attempt, (await view(store, clock, run)).progress) == (2, None)

    await store.notes.add(node, [a_note(again, clock, progress='{"done":5}')])
    await finish(store, clock, node, again)

    assert (await view(store, clock, run)).progress == Progress(5)


async def test_what_was_said_goes_with_retention_but_never_from_under_a_run(store, clock):
    node = await a_node(store, clock)
    over, live = [await a_held_run(store, clock, node) for _ in range(2)]
    said = [a_note(run, clock, lines="[1]", checkpoint="1") for run in (over, live)]
    await store.notes.add(node, said)
    await finish(store, clock, node, over)
    await store.notes.add(node, [a_note(live, clock, 2, progress='{"done":1}')])

    await prune(store, before=clock.now())
    assert await lines(store, over) == ["[1]"]
    await prune(store, before=clock.advance(DAY) + SECOND, limit=1)

    assert await lines(store, over) == await lines(store, live) == []
    assert await checkpoint(store, over) is None
    assert await checkpoint(store, live) == "1"
