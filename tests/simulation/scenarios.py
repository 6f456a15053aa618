"""Small scenes, one for each thing that can happen to a job or a run.

Each is played once without faults to count the calls of the database, and then once for every call
and every fault. The director insists as a careful client does, so whatever strikes, the scene goes
on; what it must come to is the checker's to say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tests.simulation.clients import Client

Scene = Callable[["Director"], Awaitable[None]]


class Director(Client):
    """Asks for what a scene needs."""

    async def job(self, handler: str = "ok/0.1", **said: Any) -> str | None:
        return await self._make(handlerUrl=f"http://handler/{handler}", **said)

    async def function(self, name: str, **said: Any) -> str | None:
        return await self._make(handler=name, **said)

    async def _make(self, **said: Any) -> str | None:
        token = self.token()
        whole = {
            "name": token,
            "payload": {"token": token},
            "retries": 1,
            "timeout": 6,
            "backoff": {"initial": 0.4, "factor": 2, "max": 1},
            **said,
        }
        asked = await self.insist("create", "POST", "/v1/jobs", said=whole, key=f"key-{token}")
        return asked.answer["jobId"] if asked.status == 201 else None

    async def trigger(self, job: str | None, **said: Any) -> str | None:
        token = self.token()
        whole = {"payload": {"token": token}, **said}
        path = f"/v1/jobs/{job}/trigger"
        asked = await self.insist(
            "trigger", "POST", path, said=whole, key=f"key-{token}", job_id=job
        )
        return asked.answer["runId"] if asked.status == 202 else None

    async def patch(self, job: str | None, **said: Any) -> None:
        await self.ask(
            "edit", "PATCH", f"/v1/jobs/{job}", said={**said, "name": self.token()}, job_id=job
        )
        await self.insist("get", "GET", f"/v1/jobs/{job}", job_id=job)

    async def delete(self, job: str | None) -> None:
        await self.ask("delete", "DELETE", f"/v1/jobs/{job}", job_id=job)

    async def cancel(self, run: str | None) -> None:
        await self.ask("cancel", "POST", f"/v1/runs/{run}/cancel", run_id=run)


async def fire(d: Director) -> None:
    await d.job(every=1.5)
    await asyncio.sleep(4)


async def fire_by_cron(d: Director) -> None:
    await d.job(cronExpr="* * * * *", catchUp="all")
    await asyncio.sleep(5)


async def run_once_later(d: Director) -> None:
    await d.job(delay=1.7)
    await asyncio.sleep(3)


async def run_once_in_the_past(d: Director) -> None:
    await d.job(runAt="2026-05-12T09:00:00Z", catchUp="none", catchUpWindow=5)
    await asyncio.sleep(1.5)


async def run_when_triggered(d: Director) -> None:
    job = await d.job()
    await d.trigger(job)
    await d.trigger(job, delay=1.2)
    await asyncio.sleep(2.5)


async def retry(d: Director) -> None:
    await d.trigger(await d.job("second/0.1", retries=2))
    await asyncio.sleep(2.5)


async def fail_for_good(d: Director) -> None:
    job = await d.job("failing/0.1", retries=1)
    await d.trigger(job)
    await asyncio.sleep(2.5)


async def redrive_what_failed(d: Director) -> None:
    run = await d.trigger(await d.job("failing/0.1", retries=0))
    await asyncio.sleep(1)
    await d.ask("letters", "GET", "/v1/dead-letters?limit=20")
    for _ in range(2):
        await d.ask("redrive", "POST", f"/v1/runs/{run}/redrive", run_id=run)
    await asyncio.sleep(1.5)


async def dismiss_what_failed(d: Director) -> None:
    job = await d.job("refusing/0.1")
    runs = [await d.trigger(job) for _ in range(2)]
    await asyncio.sleep(1)
    await d.ask("dismiss", "DELETE", f"/v1/dead-letters/{runs[0]}", run_id=runs[0])
    path = f"/v1/jobs/{job}/dead-letters"
    await d.ask("redrive all", "POST", f"{path}/redrive", job_id=job)
    await asyncio.sleep(1)
    await d.ask("dismiss all", "DELETE", path, job_id=job)
    await asyncio.sleep(0.5)


async def call_functions(d: Director) -> None:
    await d.function("ok/0.1", every=1)
    await d.trigger(await d.function("second/0.1"))
    await asyncio.sleep(2.5)


async def lose_a_runner(d: Director) -> None:
    job = await d.function("ok/2.0", retries=0)
    for _ in range(3):
        await d.trigger(job)
    await asyncio.sleep(0.7)
    for process in d.world.processes:
        for program in process.programs[:1]:
            program.die(-9)
    await asyncio.sleep(7)


async def quarantine(d: Director) -> None:
    await d.trigger(await d.function("deadly/0.1"))
    await d.trigger(await d.function("ok/0.5", retries=0))
    await asyncio.sleep(4)


async def quarantine_several(d: Director) -> None:
    job = await d.function("deadly/0.1")
    for _ in range(4):
        await d.trigger(job)
    await asyncio.sleep(6)


async def write_exactly_once(d: Director) -> None:
    """Long enough for a process that is given up to ask while its heir is at work."""
    job = await d.function("ok/6.0", guarantee="exactly_once", timeout=20)
    for _ in range(2):
        await d.trigger(job)
    await d.trigger(await d.function("second/0.1", guarantee="exactly_once"))
    await asyncio.sleep(6.5)


async def write_and_die(d: Director) -> None:
    job = await d.function("deadly/0.1", guarantee="exactly_once")
    runs = [await d.trigger(job) for _ in range(3)]
    for _ in range(5):  # whoever sees that it is over must be right
        await asyncio.sleep(0.1)
        for run in runs:
            await d.ask("read", "GET", f"/v1/runs/{run}", run_id=run)
    await asyncio.sleep(3.5)


async def tell_who_asked(d: Director) -> None:
    job = await d.job("refusing/0.1", onFailure={"url": "http://pager/moody"})
    for _ in range(2):
        await d.trigger(job)
    await asyncio.sleep(3)


async def time_out(d: Director) -> None:
    await d.trigger(await d.job("ok/50", timeout=1, retries=0))
    await asyncio.sleep(3)


async def cancel_what_waits(d: Director) -> None:
    run = await d.trigger(await d.job(), delay=2)
    await asyncio.sleep(0.4)
    await d.cancel(run)
    await asyncio.sleep(2.5)


async def cancel_what_runs(d: Director) -> None:
    run = await d.trigger(await d.job("ok/5", retries=2))
    await asyncio.sleep(1.4)
    await d.cancel(run)
    await asyncio.sleep(2)


async def cancel_what_fails(d: Director) -> None:
    run = await d.trigger(await d.job("failing/0.8", retries=3))
    await asyncio.sleep(0.7)
    await d.cancel(run)
    await asyncio.sleep(2.5)


async def edit_while_it_fires(d: Director) -> None:
    job = await d.job(every=1)
    await asyncio.sleep(1.6)
    await d.patch(job, every=1.3)
    await asyncio.sleep(1.7)
    await d.patch(job, handlerUrl="http://handler/ok/0.3")
    await asyncio.sleep(1.5)


async def edit_what_runs_once(d: Director) -> None:
    job = await d.job(delay=2)
    await asyncio.sleep(0.5)
    await d.patch(job, delay=1)
    await asyncio.sleep(2.5)


async def pause_and_resume(d: Director) -> None:
    job = await d.job(every=1)
    await asyncio.sleep(1.4)
    await d.patch(job, paused=True)
    await asyncio.sleep(2.2)
    await d.patch(job, paused=False)
    await asyncio.sleep(2.2)


async def delete_with_everything(d: Director) -> None:
    job = await d.job("ok/4", every=1)
    await d.trigger(job, delay=5)
    await asyncio.sleep(2.6)
    await d.delete(job)
    await asyncio.sleep(2)


async def rescue(d: Director) -> None:
    job = await d.job("ok/6", retries=0, timeout=20)
    for _ in range(2):
        await d.trigger(job)
    await asyncio.sleep(1)
    d.world.processes[1].die()
    await asyncio.sleep(36)


async def start_at_most_once(d: Director) -> None:
    job = await d.job("ok/3", guarantee="at_most_once", retries=0, every=2, timeout=20)
    await d.trigger(job)
    await asyncio.sleep(2.5)
    d.world.processes[1].die()
    await asyncio.sleep(20)


async def drain(d: Director) -> None:
    job = await d.job("ok/3", every=1)
    await d.trigger(job)
    await asyncio.sleep(2.2)
    d.world.processes[1].told_to_stop()
    await asyncio.sleep(9)


async def backlog(d: Director) -> None:
    """More than one process with one slot can do, and less than two can."""
    job = await d.job("ok/1.7", every=1)
    for _ in range(2):
        await d.trigger(job)
    await asyncio.sleep(4)


async def catch_up_all(d: Director) -> None:
    await d.job(every=2, catchUp="all", catchUpWindow=2)
    await _stand_still(d)


async def catch_up_latest(d: Director) -> None:
    await d.job(every=2, catchUp="latest", catchUpWindow=2)
    await _stand_still(d)


async def catch_up_none(d: Director) -> None:
    await d.job(every=2, catchUp="none", catchUpWindow=2)
    await _stand_still(d)


async def _stand_still(d: Director) -> None:
    await asyncio.sleep(1)
    for process in d.world.processes:
        process.stall(9)
    await asyncio.sleep(12)


SCENES: dict[str, Scene] = {
    scene.__name__: scene
    for scene in (
        *(fire, fire_by_cron, run_once_later, run_once_in_the_past, run_when_triggered),
        *(retry, fail_for_good, time_out, cancel_what_waits, cancel_what_runs),
        *(cancel_what_fails, edit_while_it_fires, edit_what_runs_once, pause_and_resume),
        *(delete_with_everything, rescue, start_at_most_once, drain, backlog),
        *(redrive_what_failed, dismiss_what_failed, tell_who_asked),
        *(call_functions, lose_a_runner, quarantine, quarantine_several),
        *(write_exactly_once, write_and_die),
        *(catch_up_all, catch_up_latest, catch_up_none),
    )
}
