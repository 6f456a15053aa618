"""The demo's run log: one line for every attempt that has ended, read from the public API alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from onthedot.cli import output
from onthedot.cli.client import ApiClient, path_of
from onthedot.cli.follow import finished_attempts, over, result_of
from onthedot.clock import SystemClock
from onthedot.core.instants import format_instant
from onthedot.errors import NotFound, OnthedotError

POLL_S = 0.5
RUNS_SEEN = 20  # per job and look: a minute of the busiest one
SILENCE_S_MAX = 20.0  # longer than the demo's grace period, in which the API may already be closed
JOBS_SEEN = 50
HEADER = "time (UTC)  job            scheduled for  attempt  lateness  result"


@dataclass(slots=True)
class RunLog:
    """Watches all jobs, those that visitors add included, and prints what has ended."""

    client: ApiClient
    # What was told already: the number of attempts by run, for the runs of the last look.
    _told: dict[str, int] = field(default_factory=dict)
    _ended: set[str] = field(default_factory=set)

    def follow(self, stop: threading.Event) -> None:
        """Until told to stop. A server that is silent for long is reported as the error it is."""
        clock = SystemClock()
        heard = clock.monotonic()
        while not stop.wait(POLL_S):
            try:
                lines = self.look()
            except OnthedotError:
                if clock.monotonic() - heard > SILENCE_S_MAX:
                    raise
                continue
            heard = clock.monotonic()
            for line in lines:
                output.data(line)

    def look(self) -> list[str]:
        """The lines for what has ended since the last look, in the order it ended."""
        told, ended = self._told, self._ended
        # Only the runs of this look are remembered, so that a long demo does not grow.
        self._told, self._ended = {}, set()
        news: list[tuple[str, str]] = []
        for name, listed in self._runs():
            run_id = str(listed["runId"])
            self._told[run_id] = told.get(run_id, 0)
            if run_id in ended:
                self._ended.add(run_id)
                continue
            news.extend(self._news(name, self.client.get(path_of("runs", run_id))))
        return [line for _, line in sorted(news)]

    def _runs(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for job in list(self.client.items("/jobs", "jobs", limit=JOBS_SEEN)):
            path = path_of("jobs", str(job["jobId"]), "runs")
            try:
                for run in self.client.items(path, "runs", limit=RUNS_SEEN):
                    yield str(job["name"]), run
            except NotFound:
                continue  # deleted between the two calls

    def _news(self, name: str, run: dict[str, Any]) -> Iterator[tuple[str, str]]:
        run_id = str(run["runId"])
        finished = finished_attempts(run)
        for attempt in finished[self._told[run_id] :]:
            yield str(attempt["finishedAt"]), line_of(name, run, attempt)
        self._told[run_id] = len(finished)
        if over(run):
            self._ended.add(run_id)
            if not finished:
                # Missed, skipped, or cancelled before it began: it ended without an attempt.
                yield str(run.get("finishedAt") or run["scheduledFor"]), line_of(name, run, run)


def line_of(name: str, run: dict[str, Any], attempt: dict[str, Any]) -> str:
    number = attempt.get("attempt") or 0
    late = output.lateness({**attempt, "scheduledFor": run.get("scheduledFor")})
    result = output.coloured(str(attempt.get("status")), result_of(attempt))
    parts = (
        _time_of_day(attempt.get("finishedAt"), digits=0).ljust(10),
        output.printable(name).ljust(13),
        _time_of_day(run.get("scheduledFor"), digits=3).ljust(13),
        f"#{number}".ljust(7) if number else " " * 7,
        # A retry waits on purpose: to call that late would be wrong.
        ("retry" if number > 1 else late).rjust(8),
        result,
    )
    return "  ".join(parts)


def _time_of_day(value: object, *, digits: int) -> str:
    instant = output.instant_of(value)
    if instant is None:
        return output.MISSING
    # Cut to milliseconds: '09:30:00.123'.
    text = format_instant(instant // 1000 * 1000).partition("T")[2].rstrip("Z")
    clock_time, _, fraction = text.partition(".")
    return f"{clock_time}.{fraction.ljust(digits, '0')}" if digits else clock_time
