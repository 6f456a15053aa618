"""Logs are events: a name and fields, one line a fact."""

from __future__ import annotations

import io
import logging
import shlex
import sys
import threading
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from onthedot.observe import events


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """The logger of onthedot, left as it was found."""
    found = logging.getLogger("onthedot")
    handlers, level, propagate = list(found.handlers), found.level, found.propagate
    yield found
    found.handlers[:], found.propagate = handlers, propagate
    found.setLevel(level)


@pytest.fixture
def logged(logger, caplog):
    logger.propagate = True
    caplog.set_level(logging.INFO, logger="onthedot")
    return caplog


def test_an_event_is_its_name_and_its_fields_in_order(logged):
    events.log("run.finished", run=812, attempt=2, took_ms=41)

    assert logged.record_tuples == [
        ("onthedot", logging.INFO, "run.finished run=812 attempt=2 took_ms=41")
    ]


def test_an_event_needs_no_fields(logged):
    events.log("node.ready")

    assert logged.messages == ["node.ready"]


def test_a_warning_is_an_event_of_another_level(logged):
    events.warn("clock.set_aside", job=3)

    assert logged.record_tuples == [("onthedot", logging.WARNING, "clock.set_aside job=3")]


def test_a_field_may_be_called_event(logged):
    events.log("signal.sent", event="cancel")

    assert logged.messages == ["signal.sent event=cancel"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain", "plain"),
        (None, "None"),
        (1.5, "1.5"),
        ("", '""'),
        ("two words", '"two words"'),
        ("a=b", '"a=b"'),
        ('say "hi"', r'"say \"hi\""'),
        ("two\nlines", r'"two\nlines"'),
        (r"C:\new dir", r'"C:\\new dir"'),
        ("100 %s", '"100 %s"'),
    ],
)
def test_a_value_that_would_break_the_line_is_quoted(logged, value, shown):
    events.log("e", why=value)

    assert logged.messages == [f"e why={shown}"]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=st.text())
@example("a\rERROR forged")
@example("a\x1b[2Jb")
@example("a\u2028b")
@example("a\x85b")
def test_whatever_a_value_holds_an_event_is_one_line(logged, value):
    logged.clear()

    events.log("e", why=value, end=1)

    [message] = logged.messages
    assert len(message.splitlines()) == 1
    assert "\x1b" not in message
    assert message.endswith(" end=1")


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=st.text(st.characters(codec="ascii", min_codepoint=32, max_codepoint=126)))
def test_a_value_can_be_told_from_the_next_field(logged, value):
    logged.clear()

    events.log("e", why=value, end=1)

    [message] = logged.messages
    assert message.startswith("e why=")
    shown = message.removeprefix("e why=").removesuffix(" end=1")
    assert shown == value or shlex.split(shown) == [value]


def test_the_server_writes_its_events_to_standard_error(logger, capsys):
    events.to_stderr("info")

    events.log("node.ready", port=8467)
    logger.handlers[0].flush()

    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith(" INFO node.ready port=8467\n")
    assert err.count("\n") == 1
    assert sys.stderr is not sys.stdout


def test_what_is_below_the_level_is_not_written(logger, capsys):
    events.to_stderr("warning")

    events.log("node.ready")
    events.warn("node.late")
    logger.handlers[0].flush()

    assert capsys.readouterr().err.endswith(" WARNING node.late\n")


class Standing(io.StringIO):
    """Somebody who reads nothing until `goes_on` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.goes_on = threading.Event()

    def write(self, text: str) -> int:
        self.goes_on.wait(10)
        return super().write(text)


def test_whoever_logs_does_not_wait_for_a_reader_that_stands_still(logger):
    reader = Standing()
    writer = events.EventWriter(reader)
    logger.addHandler(writer)

    for number in range(events.LINES_MAX + 100):
        events.warn("node.late", number=number)
    assert reader.getvalue() == ""
    reader.goes_on.set()
    writer.flush()
    writer.flush()  # what was dropped is told when all else is written

    lines = reader.getvalue().splitlines()
    assert lines[0] == "node.late number=0"
    dropped = int(lines[-1].removeprefix("log.dropped count="))
    assert dropped + len(lines) - 1 == events.LINES_MAX + 100
