"""People and programs that use the API while everything goes wrong.

They know only what they were answered. Every edit carries a name of its own and the version it was
made for, so that whoever reads the history can tell which of two edits became which version.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from tests.simulation import api
from tests.simulation.history import Ask
from tests.simulation.receiver import some_handler
from tests.simulation.swarm import Profile

if TYPE_CHECKING:
    from tests.simulation.process import Process
    from tests.simulation.world import World

PATIENCE_S = 20.0
TRIES = 4
PAGERS = ({"url": "http://pager/ok"}, {"url": "http://pager/moody"})
_QUICK = (1, 1.5, 2)
_SLOW = (3.7, 5, 11, 30)
RESTING_SHARE = 0.25
ONCE = "at_most_once"
EXACTLY = "exactly_once"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Book:
    """What clients have learnt together."""

    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    runs: list[str] = field(default_factory=list)
    letters: list[str] = field(default_factory=list)

    def learn(self, job: dict[str, Any]) -> None:
        known = self.jobs.get(job["jobId"])
        if known is None or known["version"] <= job["version"]:
            self.jobs[job["jobId"]] = job

    def some_job(self, chance: random.Random) -> dict[str, Any] | None:
        left = [job for name, job in self.jobs.items() if name not in self.gone]
        return chance.choice(left) if left else None


class Client:
    def __init__(self, world: World, name: str, book: Book) -> None:
        self.world = world
        self.name = name
        self.book = book
        self.chance = world.chance(f"client/{name}")
        self._count = 0

    def token(self) -> str:
        self._count += 1
        return f"{self.name}.{self._count}"

    async def ask(self, what: str, method: str, path: str, **more: Any) -> Ask:
        """One request, to any process that is up. Whatever comes of it is history."""
        said, key, expected = more.get("said"), more.get("key"), more.get("expected")
        headers = {} if key is None else {"idempotency-key": key}
        if expected is not None:
            headers["if-match"] = f'"{expected}"'
        asked = Ask(what, self.world.now(), self.world.loop.now_us, method, path, said, key)
        asked.job_id, asked.run_id = more.get("job_id"), more.get("run_id")
        asked.expected = expected
        self.world.history.asks.append(asked)
        process = self._choose()
        if process is None:
            self.world.note(self.name, f"{what} {path}: nobody is there")
            asked.status = 0
            return asked
        self.world.note(self.name, f"{what} {method} {path} of {process.name} {said or ''}")
        answer = None
        try:
            async with asyncio.timeout(PATIENCE_S):
                answer = await api.ask(process, method, path, said, headers)
        except TimeoutError:
            self.world.note(self.name, f"{what}: gave up waiting")
        if answer is not None:
            asked.answered, asked.answered_at = self.world.now(), self.world.loop.now_us
            asked.status, asked.answer = answer.status, answer.said
        self._note(asked)
        self._learn(asked)
        return asked

    def _choose(self) -> Process | None:
        ready = [process for process in self.world.processes if process.ready]
        return self.chance.choice(ready) if ready else None

    def _note(self, asked: Ask) -> None:
        said = asked.answer if isinstance(asked.answer, dict) else {}
        shown = {
            field: said[field]
            for field in ("jobId", "runId", "version", "status", "scheduledFor", "detail")
            if field in said
        }
        self.world.note(self.name, f"{asked.what}: {asked.status} {shown or ''}")

    def _learn(self, asked: Ask) -> None:
        said = asked.answer
        if asked.status in (200, 201) and isinstance(said, dict) and "handlerUrl" in said:
            self.book.learn(said)
        if asked.what == "trigger" and asked.status == 202:
            self.book.runs.append(said["runId"])
        if asked.status == 404 and asked.job_id is not None and asked.what != "list":
            self.book.gone.add(asked.job_id)
        if asked.what == "delete" and asked.status == 204 and asked.job_id is not None:
            self.book.gone.add(asked.job_id)
        if asked.what == "letters" and asked.status == 200:
            self.book.letters = [letter["runId"] for letter in said["deadLetters"]]
        if asked.what == "redrive" and asked.status == 202:
            self.book.runs.append(said["runId"])
        if asked.what == "list" and asked.status == 200:
            self.book.runs += [run["runId"] for run in said["runs"][:5]]
            del self.book.runs[:-60]

    async def insist(self, what: str, method: str, path: str, **more: Any) -> Ask:
        """The same request again, until it is answered."""
        asked = await self.ask(what, method, path, **more)
        for _ in range(TRIES):
            if asked.status not in (None, 0, 503, 507):
                break
            await asyncio.sleep(self.chance.uniform(0.2, 3))
            asked = await self.ask(what, method, path, **more)
        return asked


class Customer(Client):
    """Makes jobs and changes its mind about them."""

    def __init__(self, world: World, name: str, book: Book, profile: Profile) -> None:
        super().__init__(world, name, book)
        self._profile = profile
        self._scruples = world.chance(f"guarantee/{name}")
        self._rests = world.chance(f"rest/{name}")

    async def live(self, until_s: float) -> None:
        loop = self.world.loop
        for _ in range(max(1, self._profile.jobs // self._profile.clients)):
            await asyncio.sleep(self.chance.uniform(0, 3))
            await self.create()
        deeds = (
            *((self.edit,) * 2 + (self.pause, self.resume) * 2 + (self.trigger,) * 4),
            *((self.cancel,) * 4 + (self.read,) * 2 + (self.list,) * 3),
            *(self.delete, self.create),
            *((self.letters, self.redrive) * 3 + (self.dismiss,) * 2),
            *(self.redrive_all, self.dismiss_all),
        )
        while True:
            await asyncio.sleep(self.chance.expovariate(1 / self._profile.think_s))
            if loop.time() >= until_s:
                return
            await self.chance.choice(deeds)()

    async def create(self) -> None:
        token = self.token()
        definition = self._with_guarantee(self._definition())
        said = {"name": token, "payload": {"token": token}, **definition}
        if self.chance.random() < 0.7:
            await self.insist("create", "POST", "/v1/jobs", said=said, key=f"key-{token}")
        else:
            await self.ask("create", "POST", "/v1/jobs", said=said)

    async def edit(self) -> None:
        change = self.chance.choice(("schedule", "schedule", "handler", "retries", "pager"))
        if change == "schedule":
            await self._patch("edit", self._schedule())
        elif change == "handler":
            await self._patch("edit", self._handler())
        elif change == "pager":
            await self._patch("edit", {"onFailure": self.chance.choice((None, *PAGERS))})
        else:
            await self._patch("edit", {"retries": self.chance.randint(0, 3)})

    async def pause(self) -> None:
        await self._patch("pause", {"paused": True})

    async def resume(self) -> None:
        await self._patch("resume", {"paused": False})

    async def _patch(self, what: str, said: dict[str, Any]) -> None:
        job = self.book.some_job(self.chance)
        if job is None:
            return
        name = job["jobId"]
        said = {**said, "name": self.token()}
        if job["guarantee"] == ONCE and "retries" in said:
            said["retries"] = 0  # more would be refused
        if job["guarantee"] == EXACTLY and "handlerUrl" in said:
            said = _as_function(said)
        asked = await self.ask(
            what, "PATCH", f"/v1/jobs/{name}", said=said, job_id=name, expected=job["version"]
        )
        if asked.status != 200:
            await self.ask("get", "GET", f"/v1/jobs/{name}", job_id=name)

    async def delete(self) -> None:
        job = self.book.some_job(self.chance)
        if job is not None and len(self.book.jobs) - len(self.book.gone) > 3:
            name = job["jobId"]
            await self.ask("delete", "DELETE", f"/v1/jobs/{name}", job_id=name)

    async def trigger(self) -> None:
        job = self.book.some_job(self.chance)
        if job is None:
            return
        token, name = self.token(), job["jobId"]
        said: dict[str, Any] = {"payload": {"token": token}}
        when = self.chance.random()
        if when < 0.2:
            said["delay"] = round(self.chance.uniform(0.1, 12), 3)
        elif when < 0.3:
            said["runAt"] = self._instant(self.chance.uniform(-5, 12))
        ask = self.insist if self.chance.random() < 0.5 else self.ask
        path = f"/v1/jobs/{name}/trigger"
        await ask("trigger", "POST", path, said=said, key=f"key-{token}", job_id=name)

    async def cancel(self) -> None:
        if self.book.runs:
            run = self.chance.choice(self.book.runs[-8:])
            await self.ask("cancel", "POST", f"/v1/runs/{run}/cancel", run_id=run)

    async def read(self) -> None:
        if self.book.runs:
            run = self.chance.choice(self.book.runs)
            await self.ask("read", "GET", f"/v1/runs/{run}", run_id=run)

    async def list(self) -> None:
        job = self.book.some_job(self.chance)
        if job is not None:
            name = job["jobId"]
            await self.ask("list", "GET", f"/v1/jobs/{name}/runs?limit=20", job_id=name)

    # What failed

    async def letters(self) -> None:
        job = self.book.some_job(self.chance)
        if job is None or self.chance.random() < 0.5:
            await self.ask("letters", "GET", "/v1/dead-letters?limit=20")
        else:
            name = job["jobId"]
            path = f"/v1/jobs/{name}/dead-letters?limit=20"
            await self.ask("letters", "GET", path, job_id=name)

    async def redrive(self) -> None:
        if self.book.letters:
            run = self.chance.choice(self.book.letters)
            await self.ask("redrive", "POST", f"/v1/runs/{run}/redrive", run_id=run)

    async def dismiss(self) -> None:
        if self.book.letters:
            run = self.chance.choice(self.book.letters)
            await self.ask("dismiss", "DELETE", f"/v1/dead-letters/{run}", run_id=run)

    async def redrive_all(self) -> None:
        job = self.book.some_job(self.chance)
        if job is not None:
            path = f"/v1/jobs/{job['jobId']}/dead-letters/redrive"
            await self.ask("redrive all", "POST", path, job_id=job["jobId"])

    async def dismiss_all(self) -> None:
        job = self.book.some_job(self.chance)
        if job is not None:
            path = f"/v1/jobs/{job['jobId']}/dead-letters"
            await self.ask("dismiss all", "DELETE", path, job_id=job["jobId"])

    # What jobs are like

    def _definition(self) -> dict[str, Any]:
        chance = self.chance
        return {
            **(self._schedule() if chance.random() < 0.85 else {}),
            **self._handler(),
            "retries": chance.randint(0, 3),
            "timeout": chance.choice((1, 4, 8)),
            "backoff": {"initial": chance.choice((0.2, 1.0, 3.0)), "factor": 2, "max": 6},
            "catchUp": chance.choice(("latest", "latest", "all", "none")),
            "catchUpWindow": chance.choice((2, 10, 60)),
            "priority": chance.randint(0, 9),
            **({"onFailure": chance.choice(PAGERS)} if chance.random() < 0.5 else {}),
            **({"paused": True} if chance.random() < 0.1 else {}),
        }

    def _with_guarantee(self, said: dict[str, Any]) -> dict[str, Any]:
        draw = self._scruples.random()
        if draw < 0.2:
            return {**said, "guarantee": ONCE, "retries": 0}
        return {**_as_function(said), "guarantee": EXACTLY} if draw < 0.4 else said

    def _schedule(self) -> dict[str, Any]:
        chance = self.chance
        kind = chance.random()
        if self._profile.zone != "UTC":
            kind = 0.25 + kind / 2  # more of what the DST change can hurt
        if kind < 0.5:
            period = chance.choice(_SLOW if self._profile.busy else _QUICK + _SLOW)
            # A draw of its own, so that the others stay what they were.
            return {"fixedDelay" if self._rests.random() < RESTING_SHARE else "every": period}
        if kind < 0.75:
            return {"cronExpr": self._cron(), "timezone": self._profile.zone}
        if kind < 0.9:
            return {"runAt": self._instant(chance.uniform(-3, 25))}
        return {"delay": round(chance.uniform(0.1, 25), 3)}

    def _cron(self) -> str:
        if self._profile.zone == "UTC" or self.chance.random() < 0.25:
            return self.chance.choice(("* * * * *", "*/2 * * * *"))
        fixed = [f"{m} {h} * * *" for h in (1, 2, 3) for m in (0, 2, 15, 30, 32, 45, 59)]
        moving = ["*/15 2 * * *", "* 1 * * *", "* 2 * * *", "* 3 * * *", "0 * * * *"]
        return self.chance.choice(fixed + moving)

    def _handler(self) -> dict[str, str]:
        kinds, handlers = self._profile.kinds, self._profile.handlers
        return some_handler(
            self.chance,
            handlers,
            busy=self._profile.busy,
            deadly="crash" in kinds,
            stuck="stuck" in kinds,
        )

    def _instant(self, in_s: float) -> str:
        at = EPOCH + timedelta(microseconds=self.world.now() + round(in_s * 1e6))
        return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _as_function(said: dict[str, Any]) -> dict[str, Any]:
    """A function in the place of the callback that does the same."""
    others = {name: value for name, value in said.items() if name != "handlerUrl"}
    if "handlerUrl" in said:
        others["handler"] = said["handlerUrl"].removeprefix("http://handler/")
    return others
