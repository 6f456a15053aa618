"""`--watch`: lists that are redrawn, until somebody has seen enough."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator

import pytest

from onthedot.cli import watch
from tests.unit.test_cli_client import StandIn
from tests.unit.test_cli_job import JOB, onthedot
from tests.unit.test_cli_node import NODE
from tests.unit.test_cli_run import RUN


@pytest.fixture
def api(monkeypatch, tmp_path) -> Iterator[StandIn]:
    with StandIn() as stand_in:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("ONTHEDOT_SERVER", stand_in.url)
        stand_in.answers["GET /v1/jobs"] = 200, {"jobs": [JOB], "nextCursor": None}
        stand_in.answers["GET /v1/jobs/job-1/runs"] = 200, {"runs": [RUN], "nextCursor": None}
        stand_in.answers["GET /v1/nodes"] = 200, {"nodes": [NODE], "nextCursor": None}
        yield stand_in


@pytest.fixture
def pauses(monkeypatch) -> list[float]:
    """How long was slept; the third time somebody presses Ctrl-C."""
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", sleep)
    return slept


@pytest.mark.parametrize(
    ("arguments", "heading"),
    [(("job", "list"), "ID"), (("run", "list", "job-1"), "RUN"), (("node", "list"), "NODE")],
)
def test_a_watched_list_is_shown_every_second_until_it_is_enough(api, pauses, arguments, heading):
    result = onthedot(*arguments, "--watch")

    assert result.exit_code == 0
    assert pauses == [1.0] * 3
    heads = [line for line in result.stdout.splitlines() if line.startswith(f"{heading} ")]
    assert len(heads) == 3
    assert "\x1b" not in result.stdout, "without a terminal it is plain text"


def test_a_server_that_does_not_answer_for_a_while_is_waited_for(api, pauses):
    answers = iter([(200, {"nodes": [NODE], "nextCursor": None}), (503, {"detail": "away"})])
    back = 200, {"nodes": [NODE], "nextCursor": None}
    api.answers["GET /v1/nodes"] = lambda _: next(answers, back)

    result = onthedot("node", "list", "--watch")

    assert result.exit_code == 0
    assert "error: away" in result.stderr
    assert result.stdout.count("NODE ") == 2


def test_a_server_that_is_not_there_at_all_is_an_error(api, pauses):
    api.answers["GET /v1/nodes"] = 503, {"detail": "away"}

    assert onthedot("node", "list", "--watch").exit_code == 1
    assert pauses == []


def test_watch_is_for_people_and_json_for_programs(api):
    result = onthedot("job", "list", "--watch", "--json")

    assert result.exit_code == 2
    assert "--watch and --json" in result.stderr


def test_on_a_terminal_no_more_is_shown_than_fits(monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((80, 24)))

    assert watch.rows_max(50, watch=True) == 18
    assert watch.rows_max(5, watch=True) == 5
    assert watch.rows_max(50, watch=False) == 50
