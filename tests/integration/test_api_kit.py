"""What the API's tests begin with: the application over a real store, called in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from httpx import ASGITransport, AsyncClient, Response

from onthedot.api.app import Application, build
from onthedot.api.services import Services
from onthedot.ids import parse_job_id
from onthedot.observe.health import Health
from onthedot.store.contract import Store
from onthedot.store.sqlite import open_store
from tests.support.clock import ManualClock

JOB = {"name": "report", "handlerUrl": "http://127.0.0.1:9/hook"}
PROBLEM = "application/problem+json"
BASE = "http://testserver.local"


@dataclass
class Api:
    """A client, and everything behind the API that a test may want to look at or to break."""

    store: Store
    clock: ManualClock
    installation: str
    application: Application = None  # type: ignore[assignment]
    client: Any = None
    problems: tuple[str, ...] = ()
    woken: list[str] = field(default_factory=list)

    async def call(self, method: str, path: str, said: Any = None, **more: Any) -> Response:
        if said is not None:
            more["json"] = said
        response: Response = await self.client.request(method, path, **more)
        return response

    async def job(self, **said: Any) -> dict[str, Any]:
        response = await self.call("POST", "/v1/jobs", {**JOB, **said})
        assert response.status_code == 201, response.text
        job: dict[str, Any] = response.json()
        return job

    async def number(self, **said: Any) -> int:
        return parse_job_id((await self.job(**said))["jobId"])


@asynccontextmanager
async def an_api(*, key: str | None = None, store: Any = None) -> AsyncIterator[Api]:
    behind = await open_store(None)
    api = Api(store or behind, ManualClock(), await behind.upkeep.installation())
    services = Services(
        store=api.store,
        clock=api.clock,
        installation=api.installation,
        version="0.1.0",
        api_key=key,
        wake_scheduler=lambda: api.woken.append("scheduler"),
        wake_worker=lambda: api.woken.append("worker"),
        health=lambda: Health(1, ("api", "scheduler"), api.problems),
    )
    api.application = build(services)
    transport = ASGITransport(api.application, raise_app_exceptions=False)
    async with AsyncClient(transport=transport, base_url=BASE) as api.client:
        yield api
    await behind.upkeep.close()


def check_problem(response: Response, status: int, said: str = "", at: str | None = None) -> None:
    """An answer is a whole problem document with a next step."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == PROBLEM
    problem = response.json()
    assert problem["status"] == status
    assert problem["type"].startswith("urn:onthedot:problem:")
    assert problem["title"]
    assert problem["hint"]
    assert said in problem["detail"]
    assert problem.get("field") == at
