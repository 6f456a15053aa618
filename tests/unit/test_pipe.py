"""What a worker and a runner say to each other, when one of them is given what cannot be said."""

from __future__ import annotations

import pytest

from onthedot.wire.pipe import (
    FRAME_MAX,
    CallEnded,
    Frames,
    FromRunner,
    SqlRequest,
    frame,
    frames,
    from_runner,
)

UNSAYABLE = [
    pytest.param("caf\udce9", id="half a character"),
    pytest.param(2**70, id="a number of more than 64 bits"),
    pytest.param(object(), id="something else"),
    pytest.param("x" * FRAME_MAX, id="too much"),
]


def _heard(data: bytes) -> list[FromRunner]:
    return [message for body in Frames().feed(data) for message in from_runner(body)]


def _instead(message: FromRunner, why: str) -> FromRunner | None:
    return CallEnded(message.number, why) if isinstance(message, SqlRequest) else None


@pytest.mark.parametrize("value", UNSAYABLE)
def test_what_cannot_be_said_takes_no_word_of_others_with_it(value):
    asked = SqlRequest(2, 1, False, [("select $1", [[value]])])

    said: list[FromRunner] = [CallEnded(1), asked, CallEnded(3)]
    first, instead, last = _heard(frames(said, _instead))

    assert (first, last) == (CallEnded(1), CallEnded(3))
    assert isinstance(instead, CallEnded)
    assert str(instead.error).startswith("what was given cannot be passed on: ")


@pytest.mark.parametrize("value", UNSAYABLE)
def test_what_cannot_be_said_is_left_out_if_there_is_nothing_to_say_instead(value):
    assert _heard(frames([CallEnded(1, output=value), CallEnded(2)], lambda *_: None)) == [
        CallEnded(2)
    ]


def test_what_is_too_much_together_is_said_one_by_one():
    half = "x" * (FRAME_MAX // 2)
    said: list[FromRunner] = [CallEnded(1, half), CallEnded(2, half)]

    assert len(_heard(frames(said, _instead))) == 2
    with pytest.raises(ValueError, match="too many"):
        frame(said)
