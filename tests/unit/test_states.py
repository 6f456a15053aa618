"""The states of a run that people see."""

from __future__ import annotations

import pytest

from onthedot.core.instants import SECOND
from onthedot.core.states import Status, is_over, live_status

NOW = 1_772_452_800 * SECOND
OVER = ["succeeded", "failed", "cancelled", "skipped", "missed", "lost"]
LIVE = ["scheduled", "queued", "running"]


def test_the_states_have_the_names_of_the_glossary():
    assert sorted(map(str, Status)) == sorted(OVER + LIVE)


@pytest.mark.parametrize("status", Status)
def test_six_states_are_over_and_three_are_not(status):
    assert is_over(status) is (status in OVER)


@pytest.mark.parametrize(
    ("at", "started", "owned", "status"),
    [
        (NOW + 1, None, False, "scheduled"),
        (NOW + 1, None, True, "scheduled"),  # claimed ahead
        (NOW, None, False, "queued"),
        (NOW, None, True, "queued"),
        (NOW - SECOND, None, False, "queued"),
        (NOW - SECOND, NOW - 1, True, "running"),
        (NOW - SECOND, NOW - 1, False, "queued"),  # given back: nobody is running it
    ],
)
def test_a_live_run_shows_what_its_row_says(at, started, owned, status):
    assert live_status(at=at, started=started, owned=owned, now=NOW) == status
