"""Clients that change jobs while they fire, and a history of what the outside saw of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.integration.cluster_judge import (
    SECOND,
    Cancel,
    Change,
    Edit,
    History,
    Job,
    Kind,
    Record,
    Seen,
    Trigger,
)
from tests.integration.test_server_kit import Json
from tests.support.receiver import Receiver
from tests.support.rest import Reply, Rest, eventually, instant_us

LIVE = frozenset({"scheduled", "queued", "running"})
ACTIONS = {
    "edit": 30,
    "trigger": 20,
    "pause": 15,
    "resume": 30,
    "every": 8,
    "queue": 6,
    "delete": 6,
}
ENOUGH_S = 30.0
SETTLE_S = 30.0


def now() -> int:
    return time.time_ns() // 1_000


@dataclass
class Wish:
    """A cancel to be sent at a moment."""

    at: float
    run_id: str


@dataclass
class Client:
    """Has jobs of its own and changes them, one request after the other, until told to stop."""

    rest: Rest
    receiver: Receiver
    chance: Random
    queues: Sequence[str]
    pause_s: float = 0.02
    jobs: dict[str, Job] = field(default_factory=dict)
    triggers: list[Trigger] = field(default_factory=list)
    cancels: list[Cancel] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)
    cancel_requests: list[Wish] = field(default_factory=list)
    error: Exception | None = None

    def __post_init__(self) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="client", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._over.wait(self.pause_s * self.chance.random() * 2):
                self._cancel_some()
                (action,) = self.chance.choices(list(ACTIONS), list(ACTIONS.values()))
                getattr(self, f"_{action}")(self._some_job())
        except Exception as error:
            self.error = error
            raise

    def finish(self) -> None:
        """Stop, and pause every job that still fires."""
        self._over.set()
        self._thread.join(ENOUGH_S)
        assert not self._thread.is_alive(), "the client got no answer"
        assert self.error is None, repr(self.error)
        self.pause_all()

    def pause_all(self) -> None:
        for job in self.jobs.values():
            self._pause(job)

    # Actions

    def create(self, path: str = "/ok", **fields: Any) -> Job:
        queue = self.chance.choice(self.queues)
        body: Json = {"name": "a job", "handlerUrl": self.receiver.url + path, "queue": queue}
        body |= {"payload": {"edition": 0}, **fields}
        sent = now()
        made = self.rest.made("/v1/jobs", body)
        at, every = instant_us(made["createdAt"]), int(fields.get("every", 0)) * SECOND
        created = Change(kind="create", sent=sent, at=at, answered=now(), every=every)
        edit = Edit(value=queue, sent=sent, answered=created.answered)
        job = Job(made["jobId"], [created], [edit], [edit])
        self.jobs[job.job_id] = job
        return job

    def create_slow(self) -> None:
        """One whose callbacks take a second, so that a cancel meets them under way."""
        self.slow.append(self.create("/slow/1").job_id)

    def _edit(self, job: Job) -> None:
        sent = now()
        self._patched(job, {"payload": {"edition": len(job.editions)}})
        job.editions.append(Edit(sent=sent, answered=now()))

    def _queue(self, job: Job) -> None:
        value, sent = self.chance.choice(self.queues), now()
        self._patched(job, {"queue": value})
        job.queues.append(Edit(value=value, sent=sent, answered=now()))

    def _every(self, job: Job) -> None:
        every = self.chance.choice([1, 1, 2])
        if every * SECOND != job.changes[-1].every:
            self._change(job, "every", {"every": every}, every * SECOND)

    def _pause(self, job: Job) -> None:
        if _fires(job):
            self._change(job, "pause", {"paused": True})

    def _resume(self, job: Job) -> None:
        if not _fires(job):
            self._change(job, "resume", {"paused": False})

    def _delete(self, job: Job) -> None:
        """And another one in its place."""
        sent = now()
        reply = self.rest.delete(f"/v1/jobs/{job.job_id}")
        assert reply.status == 204, reply
        job.changes.append(Change(kind="delete", sent=sent, at=sent, answered=now()))
        self.create(every=1)

    def _trigger(self, job: Job) -> None:
        slow = self.chance.random() < 0.3
        job_id = self.chance.choice(self.slow) if slow else job.job_id
        token = f"{id(self)}-{len(self.triggers)}"
        body: Json = {"payload": {"token": token}}
        if self.chance.random() < 0.5:
            body["delay"] = round(self.chance.uniform(0.1, 1.5), 3)
        sent = now()
        run_id = self.rest.made(f"/v1/jobs/{job_id}/trigger", body)["runId"]
        self.triggers.append(
            Trigger(run_id=run_id, job_id=job_id, token=token, sent=sent, answered=now())
        )
        if self.chance.random() < 0.6:
            at = time.monotonic() + self.chance.uniform(0.0, body.get("delay", 0.0) + 0.3)
            self.cancel_requests.append(Wish(at, run_id))

    def _cancel_some(self) -> None:
        due = [
            cancel_request
            for cancel_request in self.cancel_requests
            if cancel_request.at <= time.monotonic()
        ]
        for cancel_request in due:
            self.cancel_requests.remove(cancel_request)
            reply = self.rest.post(f"/v1/runs/{cancel_request.run_id}/cancel")
            self.cancels.append(
                Cancel(run_id=cancel_request.run_id, answered=now(), code=reply.status)
            )

    def _change(self, job: Job, kind: Kind, body: Json, every: int = 0) -> None:
        sent = now()
        made = self._patched(job, body)
        at, every = instant_us(made["updatedAt"]), every or job.changes[-1].every
        job.changes.append(Change(kind=kind, sent=sent, at=at, answered=now(), every=every))

    def _patched(self, job: Job, body: Json) -> Json:
        reply: Reply = self.rest.patch(f"/v1/jobs/{job.job_id}", body)
        assert reply.status == 200, reply
        made: Json = reply.json
        return made

    def _some_job(self) -> Job:
        there = [job for job in self.jobs.values() if job.changes[0].every and not job.deleted]
        return self.chance.choice(there)


def _fires(job: Job) -> bool:
    """Whether it has a schedule and is neither paused nor deleted."""
    last = next((c.kind for c in reversed(job.changes) if c.kind != "every"), "create")
    return bool(job.changes[0].every) and last in ("create", "resume")


# Reading


def history_of(
    rest: Rest,
    receiver: Receiver,
    clients: Sequence[Client],
    subscriptions: Mapping[str, frozenset[str]],
) -> History:
    """Everything that can be known, once no run is live any more. The jobs are paused."""
    jobs = {job_id: job for client in clients for job_id, job in client.jobs.items()}
    triggers = [trigger for client in clients for trigger in client.triggers]
    there = [job_id for job_id, job in jobs.items() if not job.deleted]
    last = max(job.changes[-1].answered for job in jobs.values())
    eventually(lambda: now() > last + 2 * SECOND, "two seconds after the last change")
    records = _once_over(lambda: _records(rest, there))
    seen = [each for each in _seen(receiver) if each.job_id in jobs]
    listed = {record.run_id for record in records}
    known = {each.run_id for each in seen} | {trigger.run_id for trigger in triggers}
    return History(
        jobs=jobs,
        records=records,
        seen=seen,
        by_id={record.run_id: record for record in _once_over(lambda: _each(rest, known - listed))},
        triggers=triggers,
        cancels=[cancel for client in clients for cancel in client.cancels],
        subscriptions=subscriptions,
    )


def _once_over(read: Callable[[], list[Record]]) -> list[Record]:
    found: list[Record] = []

    def none_is_live() -> bool:
        found[:] = read()
        return not any(record.status in LIVE for record in found)

    eventually(none_is_live, "the end of every run", within_s=SETTLE_S)
    return found


def _records(rest: Rest, job_ids: Sequence[str]) -> list[Record]:
    return [
        _record(element)
        for job_id in job_ids
        for element in rest.pages(f"/v1/jobs/{job_id}/runs", "runs")
    ]


def _each(rest: Rest, run_ids: set[str]) -> list[Record]:
    replies = [rest.get(f"/v1/runs/{run_id}") for run_id in sorted(run_ids)]
    return [_record(reply.json) for reply in replies if reply.status == 200]


def _record(element: Json) -> Record:
    return Record(
        run_id=element["runId"],
        job_id=element["jobId"],
        status=element["status"],
        due=instant_us(element["scheduledFor"]),
        started=_instant(element["startedAt"]),
        finished=_instant(element["finishedAt"]),
        node=element["nodeId"],
        rescues=element["rescues"],
        until=_instant(element["until"]),
        count=element["count"],
    )


def _instant(text: str | None) -> int | None:
    return None if text is None else instant_us(text)


def _seen(receiver: Receiver) -> list[Seen]:
    return [
        Seen(
            at=call.at_ns // 1_000,
            run_id=call.run_id,
            job_id=call.job_id,
            due=call.scheduled_for_us,
            attempt=call.attempt,
            edition=call.json.get("edition"),
            token=call.json.get("token"),
        )
        for call in receiver.calls()
    ]
