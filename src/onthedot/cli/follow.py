"""Following runs: which attempts have ended, and when the run is over."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from onthedot.cli import output
from onthedot.cli.client import ApiClient, path_of
from onthedot.core.states import Status, is_over
from onthedot.errors import OnthedotError

POLL_S = 0.25


def finished_attempts(run: dict[str, Any]) -> list[dict[str, Any]]:
    """The attempts of a run (as `GET /runs/{runId}` gives it) that have ended, first to last."""
    return [attempt for attempt in run.get("attempts") or [] if attempt.get("finishedAt")]


def over(run: dict[str, Any]) -> bool:
    try:
        return is_over(Status(str(run.get("status"))))
    except ValueError:
        return False  # a state that a newer server knows: keep watching


def result_of(attempt: dict[str, Any]) -> str:
    """'succeeded', or what went wrong in words."""
    status = str(attempt.get("status"))
    why = attempt.get("error") or attempt.get("reason")
    return f"{status}: {output.printable(output.first_line(why))}" if why else status


def lines_of(client: ApiClient, run_id: str, *, follow: bool) -> Iterator[dict[str, Any]]:
    """What a run has said, first to last; with `follow` also what it says until it is over."""
    query: dict[str, str] = {}
    # Endless by design while it follows: whoever does can press Ctrl-C.
    while True:
        answer = client.get(path_of("runs", run_id, "logs"), **query)
        yield from answer.get("lines") or []
        query = {"after": str(answer.get("next"))}
        if answer.get("more"):
            continue
        if not follow or over(answer):
            return
        time.sleep(POLL_S)


def wait_until_over(client: ApiClient, run_id: str) -> dict[str, Any]:
    """Follow a run to its end, telling every attempt and change of state on standard error."""
    last: dict[str, Any] = {}
    told = 0
    try:
        for last in _looks(client, run_id):
            finished = finished_attempts(last)
            for attempt in finished[told:]:
                output.note(f"attempt {attempt.get('attempt')} {result_of(attempt)}")
            told = max(told, len(finished))
    except OnthedotError as error:
        error.hint = f"The run may go on without us: onthedot run show {run_id}"
        raise
    return last


def _looks(client: ApiClient, run_id: str) -> Iterator[dict[str, Any]]:
    # Endless by design: a run may be due next year, and whoever waits can press Ctrl-C.
    before = ""
    while True:
        run = client.get(path_of("runs", run_id))
        yield run
        if over(run):
            return
        if run.get("status") != before:
            before = str(run.get("status"))
            output.note(f"run {run_id} is {before}")
        time.sleep(POLL_S)
