"""A client that looks after what failed: it redrives dead letters, one or all of a job, and
dismisses some, while everything happens.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

from tests.crash.history import Dismissal, History, Redrive
from tests.crash.load import Kind
from tests.support.rest import NoAnswer, Reply, Rest

# Its redrives fail, too, and are letters in their turn.
FAILS = Kind(path="/status/500", retries=0, status="failed")
FINISH_S = 120.0
LETTERS_MAX = 40
"""With more of them it makes no new ones: all are redriven in one request now and then."""


class Redriver(threading.Thread):
    def __init__(self, rest: Rest, jobs: Sequence[str], seed: int) -> None:
        super().__init__(name="redriver", daemon=True)
        self.redrives: list[Redrive] = []
        self.dismissals: list[Dismissal] = []
        self.wrong: list[str] = []
        self._rest = rest
        self._jobs = jobs
        self._chance = Random(seed)
        self._letters: list[str] = []
        self._over = threading.Event()
        self._error: Exception | None = None

    def run(self) -> None:
        deeds = [self._trigger, self._look, self._redrive, self._redrive_all, self._dismiss]
        try:
            while not self._over.wait(self._chance.uniform(0.0, 0.3)):
                (deed,) = self._chance.choices(deeds, [4, 3, 4, 1, 2])
                deed()
        except Exception as error:
            self._error = error
            raise

    def finish(self) -> None:
        self._over.set()
        self.join(FINISH_S)
        assert not self.is_alive(), "the client got no answer"
        assert self._error is None, self._error

    def add_to(self, history: History) -> History:
        """What the checker must know of it; every run is over by now."""
        letters = {job_id: self._letters_of(job_id) for job_id in self._jobs}
        return replace(history, redrives=self.redrives, dismissals=self.dismissals, letters=letters)

    def _letters_of(self, job_id: str) -> list[str]:
        path = f"/v1/jobs/{job_id}/dead-letters"
        return [each["runId"] for each in self._rest.pages(path, "deadLetters", limit=100)]

    def _trigger(self) -> None:
        if len(self._letters) < LETTERS_MAX:
            self._ask("POST", f"/v1/jobs/{self._chance.choice(self._jobs)}/trigger", 202)

    def _look(self) -> None:
        """What it sees may be dealt with by the time that it asks for it, by itself too: then it is
        refused.
        """
        path = f"/v1/jobs/{self._chance.choice(self._jobs)}/dead-letters"
        reply = self._ask("GET", path, 200)
        if reply is not None:
            self._letters = [each["runId"] for each in reply.json["deadLetters"]]

    def _redrive(self) -> None:
        if not self._letters:
            return
        run_id = self._chance.choice(self._letters)
        reply = self._ask("POST", f"/v1/runs/{run_id}/redrive", 202, 409)
        made = _made([reply.json]) if reply is not None and reply.status == 202 else ()
        self.redrives.append(Redrive(run_id=run_id, status=_status(reply), made=made))

    def _redrive_all(self) -> None:
        job_id = self._chance.choice(self._jobs)
        reply = self._ask("POST", f"/v1/jobs/{job_id}/dead-letters/redrive", 202)
        made = _made(reply.json["runs"]) if reply is not None and reply.status == 202 else ()
        self.redrives.append(Redrive(job_id=job_id, status=_status(reply), made=made))

    def _dismiss(self) -> None:
        if not self._letters:
            return
        run_id = self._chance.choice(self._letters)
        reply = self._ask("DELETE", f"/v1/dead-letters/{run_id}", 204, 409)
        self.dismissals.append(Dismissal(run_id=run_id, status=_status(reply)))

    def _ask(self, method: str, path: str, *expected: int) -> Reply | None:
        """None: without an answer it may have happened, or may happen yet."""
        try:
            reply = self._rest.ask(method, path)
        except NoAnswer:
            return None
        if reply.status not in expected:
            self.wrong.append(f"{method} {path}: {reply.status} {reply.body!r}")
        return reply


def _made(runs: Sequence[Mapping[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((run["redriveOf"], run["runId"]) for run in runs)


def _status(reply: Reply | None) -> int:
    return 0 if reply is None else reply.status
