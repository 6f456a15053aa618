"""Calls of the REST API from Python: asynchronous, and a blocking twin over the same code."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

import aiohttp
import msgspec

from onthedot import config
from onthedot.errors import Conflict, Invalid, NotFound, OnthedotError

T = TypeVar("T")

TIMEOUT_S = 30.0
_KINDS: dict[int, type[OnthedotError]] = {404: NotFound, 409: Conflict, 422: Invalid, 400: Invalid}


class Client:
    """`server` and `api_key` are those of the settings (`ONTHEDOT_SERVER`, `ONTHEDOT_API_KEY`)
    unless they are given.
    """

    def __init__(self, server: str | None = None, api_key: str | None = None) -> None:
        settings = config.load({"server": server})
        self._server = settings.server
        self._api_key = api_key or settings.api_key
        self._job_ids: dict[str, str] = {}

    async def trigger(self, key: str, payload: Any, **when: Any) -> str:
        """Make a run of the job with this key; returns the run's id. `when`: `runAt` or `delay`."""
        job_id = self._job_ids.get(key) or await self._find(key)
        made = await self._call("POST", f"/v1/jobs/{job_id}/trigger", {"payload": payload, **when})
        return str(made["runId"])

    async def _find(self, key: str) -> str:
        found = await self._call("GET", "/v1/jobs", query={"key": key})
        if not found["jobs"]:
            raise NotFound(
                f"{self._server} has no job with the key '{key}'",
                hint="`onthedot serve --app module:app` brings the jobs of an app in.",
            )
        self._job_ids[key] = str(found["jobs"][0]["jobId"])
        return self._job_ids[key]

    async def _call(
        self, method: str, path: str, body: Any = None, query: dict[str, str] | None = None
    ) -> Any:
        headers = {"Content-Type": "application/json"}
        if self._api_key:
            headers["Authorization"] = f"Bearer {self._api_key}"
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout, headers=headers) as session,
                session.request(
                    method,
                    self._server + path,
                    params=query,
                    data=None if body is None else msgspec.json.encode(body),
                ) as response,
            ):
                text = await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise OnthedotError(
                f"{self._server} does not answer: {type(error).__name__}: {error}",
                hint="Start a server with `onthedot serve`, or set ONTHEDOT_SERVER.",
            ) from error
        return _read(response.status, text)


def _read(status: int, text: bytes) -> Any:
    try:
        answer = msgspec.json.decode(text)
    except msgspec.DecodeError:
        raise OnthedotError(
            f"the answer ({status}) is not JSON", hint="Is that an onthedot server?"
        ) from None
    if status < 400:
        return answer
    problem = answer if isinstance(answer, dict) else {}
    kind = _KINDS.get(status, OnthedotError)
    raise kind(
        str(problem.get("detail", f"HTTP {status}")),
        hint=str(problem.get("hint", "")),
        field=problem.get("field"),
    )


class Background:
    """An event loop in a thread, for callers that have none. Started by the first call."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                thread = threading.Thread(target=self._loop.run_forever, daemon=True)
                thread.start()
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


BACKGROUND = Background()
