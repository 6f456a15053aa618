"""What the tests of the real server begin with: a server, a receiver, and the words to use them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.support.receiver import Call, Receiver
from tests.support.rest import Reply, Rest, eventually, instant_us
from tests.support.server import Server

OVER = frozenset({"succeeded", "failed", "cancelled", "skipped", "missed", "lost"})
PROBLEM = "application/problem+json"
QUICK = {"initial": 0.1, "factor": 1, "max": 0.1}
SECOND_US = 1_000_000

Json = dict[str, Any]


@dataclass
class Stage:
    """A running server and the receiver that its jobs call. `made` are the jobs of this test."""

    server: Server
    receiver: Receiver
    made: list[str] = field(default_factory=list)

    @property
    def rest(self) -> Rest:
        return self.server.rest

    def job(self, path: str = "/ok", **fields: Any) -> Json:
        """Create a job that calls `path` of the receiver."""
        body = {"name": "a job", "handlerUrl": self.receiver.url + path, **fields}
        job: Json = self.rest.made("/v1/jobs", body)
        self.made.append(job["jobId"])
        return job

    def trigger(self, job: Json, **fields: Any) -> str:
        run_id: str = self.rest.made(f"/v1/jobs/{job['jobId']}/trigger", fields)["runId"]
        return run_id

    def ran(self, path: str = "/ok", **fields: Any) -> Json:
        """A run of a new job, triggered and over."""
        return self.over(self.trigger(self.job(path, **fields)))

    def get_job(self, job: Json) -> Json:
        return self._got(f"/v1/jobs/{job['jobId']}")

    def run(self, run_id: str) -> Json:
        return self._got(f"/v1/runs/{run_id}")

    def runs(self, job: Json, **query: object) -> list[Json]:
        """Newest first."""
        reply = self.rest.get(f"/v1/jobs/{job['jobId']}/runs", **query)
        assert reply.status == 200, reply.body
        runs: list[Json] = reply.json["runs"]
        return runs

    def over(self, run_id: str, *, within_s: float = 10.0) -> Json:
        return self.when(run_id, lambda run: run["status"] in OVER, "the end", within_s=within_s)

    def when(
        self, run_id: str, holds: Callable[[Json], bool], what: str, *, within_s: float = 10.0
    ) -> Json:
        """The run as soon as something holds of it."""
        found: list[Json] = []

        def look() -> bool:
            found[:] = [self.run(run_id)]
            return holds(found[0])

        eventually(look, f"{what} of run {run_id}", within_s=within_s)
        return found[0]

    def when_runs(
        self, job: Json, holds: Callable[[list[Json]], bool], what: str, *, within_s: float = 10.0
    ) -> list[Json]:
        """The runs of a job as soon as something holds of them."""
        found: list[Json] = []

        def look() -> bool:
            found[:] = self.runs(job, limit=1000)
            return holds(found)

        eventually(look, f"{what} of {job['jobId']}", within_s=within_s)
        return found

    def calls(self, job: Json) -> list[Call]:
        """Since it was made: a server of an earlier test had jobs of the same ids."""
        made = instant_us(job["createdAt"])
        return [
            call
            for call in self.receiver.calls()
            if call.headers.get("onthedot-job") == job["jobId"] and call.at_ns // 1_000 >= made
        ]

    def called(self, job: Json, times: int = 1) -> list[Call]:
        """The calls of a job, as soon as there are so many."""
        eventually(lambda: len(self.calls(job)) >= times, f"{times} calls of {job['jobId']}")
        return self.calls(job)

    def patched(self, job: Json, **fields: Any) -> Json:
        reply = self.rest.patch(f"/v1/jobs/{job['jobId']}", fields)
        assert reply.status == 200, reply.body
        edited: Json = reply.json
        return edited

    def clean(self) -> None:
        """No job of one test may disturb the next."""
        for job_id in self.made:
            assert self.rest.delete(f"/v1/jobs/{job_id}").status in (204, 404)

    def _got(self, path: str) -> Json:
        reply = self.rest.get(path)
        assert reply.status == 200, reply.body
        found: Json = reply.json
        return found


def finished(runs: list[Json]) -> list[Json]:
    return [run for run in runs if run["status"] in OVER]


def lateness_us(run: Json) -> int:
    return instant_us(run["startedAt"]) - instant_us(run["scheduledFor"])


def check_problem(reply: Reply, status: int, field: str | None = None) -> None:
    """A whole problem document, with a next step, that names the field at fault."""
    assert reply.status == status, reply.body
    assert reply.headers["content-type"] == PROBLEM
    problem = reply.json
    assert problem["status"] == status
    for part in ("type", "title", "detail", "hint"):
        assert problem[part], f"{part} is missing in {problem}"
    assert problem.get("field") == field, problem
