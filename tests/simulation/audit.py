"""The end of every simulation: all jobs are paused, what is under way ends, and the books are read.

Everything it learns comes from the API; it is as much a client as the others.
"""

from __future__ import annotations

import asyncio
from typing import Any

from tests.simulation.clients import Client
from tests.simulation.loop import SECOND

OVER = frozenset({"succeeded", "failed", "cancelled", "skipped", "missed", "lost"})
MADE_RUNS = frozenset({"trigger", "probe", "redrive", "redrive all"})
PAGES_MAX = 50
PATIENCE = 40
LOOKS_MAX = 50 * PATIENCE
NOTICE_S = 30.0
LEASE_LOOKS = 18


def _awaits_notice(why: dict[str, Any]) -> bool:
    return any((each["check"], each["verdict"]) == ("notice", "note") for each in why["findings"])


class Auditor(Client):
    async def probe(self) -> None:
        """A triggered run after all is healed: it must start at once."""
        job = self.book.some_job(self.chance)
        if job is not None:
            name, token = job["jobId"], self.token()
            said = {"payload": {"token": token}}
            path = f"/v1/jobs/{name}/trigger"
            await self.insist("probe", "POST", path, said=said, key=token, job_id=name)

    async def close_books(self, wait_s: float) -> None:
        """Pause every job, wait until all is over, and read everything twice."""
        await self.pause_everything()
        # After the clock was set back a pause holds only from the latest instant that was claimed.
        await asyncio.sleep(max(0, self.world.latest - self.world.now()) / SECOND)
        self.world.history.settled = await self.settle(wait_s)
        await self.wait_for_notices()
        await self.read_books("books")
        await asyncio.sleep(wait_s)
        await self.read_books("books again")
        await self._pages("last letters", "/v1/dead-letters?limit=200", "deadLetters")
        await self.wait_for_nodes()
        await self.insist("nodes", "GET", "/v1/nodes?limit=1000")

    async def pause_everything(self) -> None:
        for job in await self._jobs():
            name = job["jobId"]
            asked = await self.insist(
                "pause", "PATCH", f"/v1/jobs/{name}", said={"paused": True}, job_id=name
            )
            if asked.status not in (200, 404):
                self.world.broken(f"{name} cannot be paused after the heal: {asked.status}")

    async def settle(self, wait_s: float) -> bool:
        """Whether everything is over before this auditor loses patience. It does not while there
        is progress: calls of functions that crash or do not end are made few at a time, and all
        runs of a backlog have their first attempt before any has its second.
        """
        most, patience = -1, PATIENCE
        for _ in range(LOOKS_MAX):
            await asyncio.sleep(wait_s)
            pages = [await self._runs(job["jobId"], "look") for job in await self._jobs()]
            over = [run["status"] in OVER for runs in pages for run in runs]
            if all(over):
                return True
            done = sum(over) + sum(run["attempt"] for runs in pages for run in runs)
            most, patience = (done, PATIENCE) if done > most else (most, patience - 1)
            if not patience:
                break
        return False

    async def wait_for_notices(self) -> None:
        """Until no notice waits for its next try, which may be minutes away."""
        for _ in range(PATIENCE):
            told = {told.run_id for told in self.world.history.told if told.accepted}
            untold = [
                run["runId"]
                for job in await self._jobs()
                if job["onFailure"] is not None
                for run in await self._runs(job["jobId"], "look")
                if run["status"] in ("failed", "lost") and run["runId"] not in told
            ]
            whys = [await self.insist("why", "GET", f"/v1/runs/{run}/why") for run in untold]
            if not any(_awaits_notice(asked.answer) for asked in whys):
                return
            await asyncio.sleep(NOTICE_S)

    async def wait_for_nodes(self) -> None:
        """A lease longer: who was refused an answer declares nobody dead until it is over."""
        for _ in range(LEASE_LOOKS):
            asked = await self.insist("waiting for nodes", "GET", "/v1/nodes?limit=1000")
            living = [node for node in asked.answer["nodes"] if node["alive"]]
            if len(living) == self.world.history.processes:
                return
            await asyncio.sleep(1.0)

    async def read_books(self, what: str) -> None:
        """Every job, every run of every job and, once, each other run anybody has heard of."""
        seen = set()
        for job in await self._jobs():
            seen |= {run["runId"] for run in await self._runs(job["jobId"], what)}
        if what != "books":
            return
        heard = {effect.run_id for effect in self.world.history.effects}
        heard |= {
            made["runId"]
            for asked in self.world.history.asks
            if asked.status == 202 and asked.what in MADE_RUNS
            for made in asked.answer.get("runs", [asked.answer])
        }
        for run in sorted(heard - seen):
            await self.insist(what, "GET", f"/v1/runs/{run}", run_id=run)

    async def _jobs(self) -> list[dict[str, Any]]:
        return await self._pages("jobs", "/v1/jobs?limit=100", "jobs")

    async def _runs(self, job: str, what: str) -> list[dict[str, Any]]:
        return await self._pages(what, f"/v1/jobs/{job}/runs?limit=1000", "runs", job_id=job)

    async def _pages(self, what: str, path: str, of: str, **more: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor = ""
        for _ in range(PAGES_MAX):
            asked = await self.insist(what, "GET", path + cursor, **more)
            if asked.status != 200:
                self.world.broken(f"{path} cannot be read after the heal: {asked.status}")
                return found
            found += asked.answer[of]
            if asked.answer["nextCursor"] is None:
                return found
            cursor = "&cursor=" + asked.answer["nextCursor"]
        raise AssertionError(f"more than {PAGES_MAX} pages of {path}")
