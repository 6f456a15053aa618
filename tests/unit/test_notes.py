"""What a call says: lines from any thread, bounded, with progress and a checkpoint."""

from __future__ import annotations

import asyncio
import logging

import pytest

from onthedot import App, Context
from onthedot.core.instants import SECOND
from onthedot.sdk.calling import call
from onthedot.sdk.notes import (
    CHECKPOINT_BYTES_MAX,
    HEAD_BYTES_MAX,
    LINE_BYTES_MAX,
    TAIL_BYTES_MAX,
    CallNotes,
)
from tests.support.clock import ManualClock


def texts(notes: CallNotes) -> list[tuple[str, str]]:
    news = notes.take()
    return [] if news is None else [(level, text) for _, level, text in news.lines]


def test_a_line_ends_where_the_text_says_so():
    notes = CallNotes()
    for text in ("a", "b\nc", "\n\nd"):
        notes.write("stdout", text)
    notes.write("stderr", "e\n")

    assert texts(notes) == [("stdout", "ab"), ("stdout", "c"), ("stdout", ""), ("stderr", "e")]
    notes.close()
    assert texts(notes) == [("stdout", "d")]


def test_news_are_told_once_until_they_are_taken():
    told: list[int] = []
    notes = CallNotes(lambda: told.append(1))
    notes.write("stdout", "a\n")
    notes.write("stdout", "b\n")
    assert len(told) == 1

    notes.take()
    assert notes.take() is None
    notes.progress(1, None, "")

    assert len(told) == 2
    assert notes.take() == ([], '{"done":1}', None)


def test_every_line_has_its_instant():
    clock = ManualClock()
    notes = CallNotes(clock=clock)
    notes.line("info", "a")
    clock.advance(SECOND)
    notes.line("info", "b\nc")

    news = notes.take()
    assert news is not None
    first, second, third = news.lines
    assert (second[0] - first[0], third[0]) == (SECOND, second[0])


def test_of_too_much_the_beginning_and_the_end_are_kept_and_the_rest_is_counted():
    notes = CallNotes()
    many = 3 * (HEAD_BYTES_MAX + TAIL_BYTES_MAX) // 10
    for number in range(many):
        notes.line("info", f"{number:010}")
    notes.close()

    lines = texts(notes)
    head, tail = HEAD_BYTES_MAX // 10, TAIL_BYTES_MAX // 10
    cut = many - head - tail
    assert lines[head] == ("cut", f"… [cut: {cut:,} lines, {cut * 10:,} bytes]")
    assert [text for _, text in lines[:head]] == [f"{number:010}" for number in range(head)]
    assert [int(text) for _, text in lines[head + 1 :]] == list(range(many - tail, many))


def test_one_endless_line_is_cut():
    notes = CallNotes()
    for _ in range(100):
        notes.write("stdout", "x" * 1_000)
    notes.close()

    assert all(len(text.encode()) <= LINE_BYTES_MAX for _, text in texts(notes))


def test_text_that_no_store_can_keep_is_made_storable():
    notes = CallNotes()
    notes.line("info", "a\0b\ud800")

    assert texts(notes) == [("info", "a\N{REPLACEMENT CHARACTER}b?")]


def test_a_checkpoint_is_read_back_as_it_will_be_by_the_next_attempt():
    notes = CallNotes(checkpoint='{"page":7}')
    assert notes.last_checkpoint == {"page": 7}

    notes.checkpoint((1, None))

    assert notes.last_checkpoint == [1, None]
    assert notes.take() == ([], None, "[1,null]")


@pytest.mark.parametrize(
    ("saying", "words"),
    [
        (lambda ctx: ctx.checkpoint(object()), "a checkpoint is a JSON value"),
        (lambda ctx: ctx.checkpoint("x" * CHECKPOINT_BYTES_MAX), "has 65,538: store it elsewhere"),
        (lambda ctx: ctx.progress("half"), "done='half': progress is counted in numbers"),
        (lambda ctx: ctx.progress(-1), "done=-1: progress is counted from 0 upwards"),
        (lambda ctx: ctx.progress(1, float("inf")), "total=inf: progress is counted from 0"),
        (lambda ctx: ctx.progress(1, 2, 3), "text=3: what it is doing is said in words"),
    ],
)
def test_what_cannot_be_said_is_refused_in_words(saying, words):
    context = Context(run_id="r", job_id="j", attempt=1, scheduled_us=0)
    answer = asyncio.run(call(App().job(name="n")(saying), "{}", context))

    assert words in str(answer.error)


def test_the_logger_of_a_run_has_every_level_and_exceptions():
    context = Context(run_id="r", job_id="j", attempt=1, scheduled_us=0)
    context.log.debug("page %d", 3)
    try:
        raise ValueError("no")
    except ValueError:
        context.log.exception("it failed")

    lines = texts(context.notes)
    assert lines[:2] == [("debug", "page 3"), ("error", "it failed")]
    assert lines[-1] == ("error", "ValueError: no")
    assert context.log is context.log
    assert "run" not in logging.Logger.manager.loggerDict
