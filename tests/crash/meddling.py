"""Clients that change their minds: they edit, pause, resume and cancel while everything happens.

Every change names the version that it was made for. A request without an answer may be carried out
much later, by a node that stood still; it must not undo what was asked for since.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from tests.crash.history import Cancel, Edit, History, Job, Pause
from tests.crash.load import Kind
from tests.support.rest import NoAnswer, Rest

MEDDLED = Kind(path="/ok", every=1, retries=2)
CANCELLABLE = Kind(path="/slow/0.4", retries=1)
PATIENCE_S = 90.0
FINISH_S = 120.0

Answer = Mapping[str, Any]


class Meddler(threading.Thread):
    """Changes these jobs, one after the other, and cancels runs of another. When it has finished,
    none of them is paused by it.
    """

    def __init__(self, rest: Rest, jobs: list[str], cancellable: str, seed: int) -> None:
        super().__init__(name="meddler", daemon=True)
        self.pauses: dict[str, list[Pause]] = {}
        self.edits: list[Edit] = []
        self.cancels: list[Cancel] = []
        self.wrong: list[str] = []
        self._rest = rest
        self._jobs = jobs
        self._cancellable = cancellable
        self._chance = Random(seed)
        self._versions: dict[str, int] = {}
        self._over = threading.Event()
        self._error: Exception | None = None

    def run(self) -> None:
        deeds = [self._edit, self._pause, self._cancel]
        try:
            while not self._over.wait(self._chance.uniform(0.0, 0.2)):
                (deed,) = self._chance.choices(deeds, [4, 1, 4])
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
        """What the checker must know of it."""
        jobs = {job_id: self._paused(job) for job_id, job in history.jobs.items()}
        return replace(
            history,
            jobs=jobs,
            edits=[*history.edits, *self.edits],
            cancels=[*history.cancels, *self.cancels],
        )

    def _paused(self, job: Job) -> Job:
        return replace(job, pauses=(*job.pauses, *self.pauses.get(job.job_id, ())))

    def _edit(self) -> None:
        job_id, edition = self._chance.choice(self._jobs), len(self.edits) + 1
        payload = {"edition": edition}
        sent = _now()
        self._change(job_id, {"payload": payload}, lambda job: job["payload"] == payload)
        self.edits.append(Edit(job_id=job_id, edition=edition, sent=sent, answered=_now()))

    def _pause(self) -> None:
        job_id = self._chance.choice(self._jobs)
        sent = _now()
        self._change(job_id, {"paused": True}, lambda job: job["paused"])
        answered = _now()
        self._over.wait(self._chance.uniform(0.2, 3.0))
        resuming = _now()
        self._change(job_id, {"paused": False}, lambda job: not job["paused"])
        pause = Pause(sent=sent, answered=answered, resuming=resuming, resumed=_now())
        self.pauses.setdefault(job_id, []).append(pause)

    def _cancel(self) -> None:
        try:
            body = {"delay": round(self._chance.uniform(0.0, 2.0), 3)}
            triggered = self._rest.post(f"/v1/jobs/{self._cancellable}/trigger", body)
        except NoAnswer:
            return
        if triggered.status != 202:
            self.wrong.append(f"trigger: {triggered.status} {triggered.body!r}")
            return
        run_id = triggered.json["runId"]
        self._over.wait(self._chance.uniform(0.0, 2.0))
        try:
            status = self._rest.post(f"/v1/runs/{run_id}/cancel").status
        except NoAnswer:
            status = 0
        self.cancels.append(Cancel(run_id=run_id, status=status, answered=_now()))

    def _change(self, job_id: str, body: Any, is_done: Callable[[Answer], bool]) -> None:
        """Ask until it is so."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                if job_id not in self._versions:
                    found = self._rest.get(f"/v1/jobs/{job_id}").json
                    self._versions[job_id] = found["version"]
                    if is_done(found):
                        return
                seen = {"If-Match": f'"{self._versions.pop(job_id)}"'}
                reply = self._rest.patch(f"/v1/jobs/{job_id}", body, seen)
            except NoAnswer:
                continue
            if reply.status == 200:
                self._versions[job_id] = reply.json["version"]
                return
            if reply.status not in (409, 412):
                self.wrong.append(f"change of {job_id}: {reply.status} {reply.body!r}")
        raise AssertionError(f"{job_id} could not be changed within {PATIENCE_S:g} s: {body}")


def _now() -> int:
    return time.time_ns() // 1_000
