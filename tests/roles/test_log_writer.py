"""The log_writer writes what runs say, before their outcomes, and never stands in their way."""

from __future__ import annotations

import json
from typing import Any

import pytest

from onthedot.core.model import Lanes
from onthedot.core.states import Status
from onthedot.errors import StoreUnavailable
from onthedot.roles.log_writer import LogWriter
from onthedot.store.notes import RunNote
from onthedot.wire.pipe import CallOutput
from tests.support.builders import a_held_run, a_job, key_of, lease, ref, status_of, succeeded
from tests.support.roles import Failing, Stand, a_stand


def a_line(text: str) -> CallOutput:
    return CallOutput(0, [(1, "info", text)])


async def lines_of(store, run) -> list[str]:
    rows = await store.notes.lines(*key_of(run), after=None, limit=10)
    return [text for row in rows for _, _, text in json.loads(row.lines)]


def a_scribe(store, clock, stand: Stand) -> LogWriter:
    log_writer = LogWriter(store, clock, stand.member)
    stand.finisher.log_writer = log_writer
    return log_writer


async def test_what_runs_say_in_between_is_written_together(store, faulty, clock):
    stand = await a_stand(faulty, clock)
    log_writer = a_scribe(faulty, clock, stand)
    runs = [await a_held_run(store, clock, stand.number) for _ in range(2)]

    for run in runs:
        log_writer.add(run, a_line("a"))
        log_writer.add(run, CallOutput(0, [(2, "info", "b")], '{"done":1}', "7"))
    await log_writer.step()

    assert faulty.calls["notes.add"] == 1
    assert [await lines_of(store, run) for run in runs] == [["a", "b"], ["a", "b"]]
    assert await store.notes.checkpoints([key_of(runs[0])]) == {key_of(runs[0]): "7"}
    assert not log_writer.pending


async def test_runs_that_say_nothing_cost_nothing(store, faulty, clock):
    stand = await a_stand(faulty, clock)
    log_writer = a_scribe(faulty, clock, stand)
    run = await a_held_run(store, clock, stand.number)

    stand.finisher.add(succeeded(run, clock))
    await stand.finisher.step()
    await log_writer.step()

    assert faulty.calls["notes.add"] == faulty.calls["notes.checkpoints"] == 0


async def test_the_last_words_are_written_before_the_outcome(store, clock):
    stand = await a_stand(store, clock)
    log_writer = a_scribe(store, clock, stand)
    run = await a_held_run(store, clock, stand.number)

    log_writer.add(run, a_line("the end"))
    stand.finisher.add(succeeded(run, clock))
    await stand.finisher.step()

    assert await status_of(store, clock, run) is Status.SUCCEEDED
    assert await lines_of(store, run) == ["the end"]


async def test_words_and_outcome_wait_together_for_a_store_that_is_away(store, faulty, clock):
    stand = await a_stand(faulty, clock)
    log_writer = a_scribe(faulty, clock, stand)
    run = await a_held_run(store, clock, stand.number)
    faulty.on("notes.add", Failing(StoreUnavailable("away", hint=""), times=1, after=True))

    log_writer.add(run, a_line("a"))
    stand.finisher.add(succeeded(run, clock))
    with pytest.raises(StoreUnavailable):
        await stand.finisher.step()
    log_writer.add(run, a_line("b"))
    await stand.finisher.step()

    assert await status_of(store, clock, run) is Status.SUCCEEDED
    assert await lines_of(store, run) == ["a", "b"]


async def test_words_that_the_store_cannot_take_are_left_out(store, faulty, clock):
    stand = await a_stand(faulty, clock)
    log_writer = a_scribe(faulty, clock, stand)
    bad, good = [await a_held_run(store, clock, stand.number) for _ in range(2)]

    async def choke(verb: Any, node: int, notes: Any) -> Any:
        if any(key_of(note) == key_of(bad) for note in notes):
            raise ValueError("cannot bind")
        return await verb(node, notes)

    faulty.on("notes.add", choke)
    for run in (bad, good):
        log_writer.add(run, a_line("a"))
        stand.finisher.add(succeeded(run, clock))
    await stand.finisher.step()

    assert await lines_of(store, good) == ["a"]
    assert await status_of(store, clock, bad) is Status.SUCCEEDED


async def test_a_function_that_was_held_before_is_given_its_checkpoint(store, clock):
    stand = await a_stand(store, clock, lanes=Lanes((), frozenset({"bill"})))
    job = await a_job(store, clock, handler_url="", handler="bill")
    await store.runs.enqueue(job.id, due=clock.now(), payload=None, now=clock.now())
    [run] = await store.runs.lease(stand.number, stand.worker.lanes, limit=1, now=clock.now())
    note = RunNote(*ref(run), run.attempt, 1, clock.now(), checkpoint="7")
    await store.notes.add(stand.number, [note])
    await store.runs.release(stand.number, [ref(run)], now=clock.now())

    stand.worker.look()
    await stand.work_off()

    assert [call.checkpoint for call in stand.runner.calls] == ["7"]
    assert await lease(store, clock, stand.number) == []
