"""The load under which the server is killed: recurring jobs of several kinds, and a busy client."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from random import Random
from types import MappingProxyType
from typing import Any

from tests.crash.history import SECOND, Ask, Job
from tests.support.receiver import Receiver
from tests.support.rest import NoAnswer, Reply, Rest, instant_us

BACKOFF = {"initial": 0.2, "factor": 1, "max": 0.2}
INSIST_S = 30.0
AT_ONCE = 4
CREATED = {"trigger": 202, "one-off": 201, "recurring": 201}
SHARES = {"trigger": 77, "one-off": 20, "recurring": 3}
REPEATED = 0.2
RECURRING_MAX = 40
"""So many recurring jobs a client makes at most: each is one more run a second from then on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Jobs that are alike, and how each of their runs must end. `every` in seconds."""

    path: str
    every: int | None = None
    retries: int = 3
    status: str = "succeeded"
    attempts: int = 1
    window_s: float | None = None
    runs: int | None = None
    function: str | None = None

    def definition(self, name: str, receiver: Receiver) -> dict[str, Any]:
        url = receiver.url + self.path
        made: dict[str, Any] = {"name": name, "retries": self.retries}
        if self.function is None:
            made["handlerUrl"] = url
        else:
            made |= {"handler": self.function, "payload": {"url": url}}
        made |= {"backoff": BACKOFF, "catchUp": "all"}
        if self.every is not None:
            made["every"] = self.every
        if self.window_s is not None:
            made["catchUpWindow"] = self.window_s
        return made


STEADY = Kind(path="/ok", every=1)
# Soon beyond its window, so that its occurrences are caught up with and not merely late.
CAUGHT_UP = Kind(path="/ok", every=1, window_s=0.5)
# A server that has just started does not know these yet when their instant comes.
RARE = Kind(path="/ok", every=5)
RETRIED = Kind(path="/fail-times/1", every=1, retries=2, attempts=2)
FAILING = Kind(path="/status/500", every=2, retries=1, status="failed", attempts=2)
SLOW = Kind(path="/slow/1.5", every=2)
FUNCTION = Kind(path="/ok", every=1, function="chaos.call")
TRIGGERED = Kind(path="/ok")
ONE_OFF = Kind(path="/ok", runs=1)
TRIGGERED_RETRIED = Kind(path="/fail-times/1", retries=2, attempts=2)
MIXED: Mapping[Kind, int] = MappingProxyType(
    {
        STEADY: 60,
        CAUGHT_UP: 40,
        RARE: 60,
        RETRIED: 6,
        FAILING: 4,
        SLOW: 6,
        TRIGGERED: 1,
        TRIGGERED_RETRIED: 1,
    }
)


class Load:
    """Recurring and triggered jobs, made through the API and paused in the end."""

    def __init__(self, rest: Rest, receiver: Receiver) -> None:
        self.jobs: dict[str, Job] = {}
        self.by_kind: dict[Kind, list[str]] = {}
        self._rest = rest
        self._receiver = receiver

    def create(self, kinds: Mapping[Kind, int]) -> None:
        with ThreadPoolExecutor(AT_ONCE) as clients:
            for kind, count in kinds.items():
                made = clients.map(
                    lambda number, kind=kind: self._create(kind, number), range(count)
                )
                self.by_kind[kind] = list(made)

    def adopt(self, kind: Kind, names: Iterable[str], listed: Iterable[Mapping[str, Any]]) -> None:
        """Answer for the jobs of these names, if there are any: their requests may have had no
        answer.
        """
        wanted = set(names)
        for job in listed:
            if job["name"] in wanted:
                self._answer_for(kind, job)

    def pause(self) -> None:
        """No occurrence that is due before the request was sent may be lost to it."""
        recurring = [job for job in self.jobs.values() if job.every is not None]
        with ThreadPoolExecutor(AT_ONCE) as clients:
            for paused in clients.map(self._pause, recurring):
                self.jobs[paused.job_id] = paused

    def _pause(self, job: Job) -> Job:
        sent = time.time_ns() // 1_000
        reply = self._rest.patch(f"/v1/jobs/{job.job_id}", {"paused": True})
        assert reply.status == 200, reply
        return replace(job, pause_sent=sent, pause_answered=time.time_ns() // 1_000)

    def _create(self, kind: Kind, number: int) -> str:
        name = f"{kind.path.strip('/')} {number}"
        made = self._rest.made("/v1/jobs", kind.definition(name, self._receiver))
        return self._answer_for(kind, made)

    def _answer_for(self, kind: Kind, made: Mapping[str, Any]) -> str:
        job_id: str = made["jobId"]
        self.jobs[job_id] = Job(
            job_id=job_id,
            retries=kind.retries,
            status=kind.status,
            attempts=kind.attempts,
            every=None if kind.every is None else kind.every * SECOND,
            created=instant_us(made["createdAt"]),
            runs=kind.runs,
            function=kind.function is not None,
        )
        return job_id


class Traffic(threading.Thread):
    """A client that triggers and creates all the time, across every kill. Half of the requests that
    get no answer are repeated under the same Idempotency-Key until there is one; some that were
    answered are repeated later, and must get the same answer.
    """

    def __init__(self, rest: Rest, receiver: Receiver, triggered: list[str], seed: int) -> None:
        super().__init__(name="traffic", daemon=True)
        self.asks: list[Ask] = []
        self.refused: list[str] = []
        self.insisted = 0
        self._answered: list[tuple[str, Any, str, bytes]] = []
        self._rest = rest
        self._receiver = receiver
        self._triggered = triggered
        self._chance = Random(seed)
        self._over = threading.Event()
        self._error: Exception | None = None

    def run(self) -> None:
        try:
            while not self._over.wait(self._chance.uniform(0.0, 0.1)):
                if self._answered and self._chance.random() < REPEATED:
                    self._ask_again()
                else:
                    self._ask(f"token-{len(self.asks)}")
        except Exception as error:
            self._error = error
            raise

    def finish(self) -> None:
        self._over.set()
        self.join(INSIST_S)
        assert not self.is_alive(), "the client got no answer"
        assert self._error is None, self._error

    def tokens(self, what: str) -> list[str]:
        return [ask.token for ask in self.asks if ask.what == what]

    def _ask(self, token: str) -> None:
        (what,) = self._chance.choices(list(SHARES), list(SHARES.values()))
        if what == "recurring" and len(self.tokens(what)) >= RECURRING_MAX:
            what = "trigger"
        path, body = self._trigger(token) if what == "trigger" else self._create(what, token)
        insist = self._chance.random() < 0.5
        reply = self._post(path, body, token, tries_s=INSIST_S if insist else 0.0)
        made = None
        if reply is not None and reply.status == CREATED[what]:
            made = reply.json["runId" if what == "trigger" else "jobId"]
            self._answered.append((path, body, token, reply.body))
        elif reply is not None:
            self.refused.append(f"{what} {token}: {reply.status} {reply.body.decode()}")
        self.asks.append(Ask(what=what, token=token, made=made))

    def _ask_again(self) -> None:
        path, body, token, answer = self._chance.choice(self._answered)
        reply = self._post(path, body, token, tries_s=0.0)
        if reply is not None and reply.body != answer:
            self.refused.append(f"{token} asked again: {reply.body.decode()}, not {answer!r}")

    def _trigger(self, token: str) -> tuple[str, dict[str, Any]]:
        job_id = self._chance.choice(self._triggered)
        body: dict[str, Any] = {"payload": {"token": token}}
        if self._chance.random() < 0.3:
            body["delay"] = round(self._chance.uniform(0.2, 2.0), 3)
        return f"/v1/jobs/{job_id}/trigger", body

    def _create(self, what: str, token: str) -> tuple[str, dict[str, Any]]:
        kind = STEADY if what == "recurring" else ONE_OFF
        body = kind.definition(token, self._receiver)
        if what == "one-off":
            body |= {"delay": round(self._chance.uniform(0.0, 2.0), 3), "payload": {"token": token}}
        return "/v1/jobs", body

    def _post(self, path: str, body: Any, token: str, *, tries_s: float) -> Reply | None:
        deadline = time.monotonic() + tries_s
        while True:
            try:
                return self._rest.post(path, body, {"Idempotency-Key": token})
            except NoAnswer:
                if time.monotonic() >= deadline:
                    return None
                self.insisted += 1
                self._over.wait(0.05)
