"""The REST API from Python: asynchronous, and a blocking twin over the same code (`blocking`)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack
from urllib.parse import quote

import msgspec

from onthedot import config
from onthedot.errors import NotFound, OnthedotError
from onthedot.sdk.spelling import spelled
from onthedot.sdk.transport import HttpTransport, Transport, TransportRequest
from onthedot.wire import (
    DeadLetterDetail,
    DeadLetterList,
    DeadLetterOut,
    DeadLettersDismissed,
    DeadLettersRedriven,
    JobList,
    JobOut,
    RunCancelled,
    RunCreated,
    RunDetail,
    RunList,
    RunOut,
    RunRedriven,
    RunsCreated,
)
from onthedot.wire.calendars import CalendarList, CalendarOut
from onthedot.wire.refusals import NOT_OURS, refusal
from onthedot.wire.runs import TRIGGERS_MAX
from onthedot.wire.shapes import CreateKeywords, EditKeywords, TriggerKeywords

if TYPE_CHECKING:
    from types import TracebackType

    from onthedot.sdk.blocking import BlockingClient

S = TypeVar("S", bound=msgspec.Struct)
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]

PAGE = 1000
LISTED = 1000
REQUEST_BYTES = 200 * 1024
"""Of runs that are sent together; a request may have 256 KB."""


class Client:
    """`server` and `api_key` are those of the settings (`ONTHEDOT_SERVER`, `ONTHEDOT_API_KEY`)
    unless they are given. Used in an `async with`, it keeps its connections meanwhile.

    A refusal is raised as the error that the server names: `errors.KeyTaken`, `errors.NotFound` …
    """

    def __init__(
        self,
        server: str | None = None,
        api_key: str | None = None,
        *,
        transport: Transport | None = None,
    ) -> None:
        if transport is None:
            settings = config.load({"server": server})
            transport = HttpTransport(settings.server, api_key or settings.api_key)
        self._transport = transport

    async def __aenter__(self) -> Client:
        if isinstance(self._transport, HttpTransport):
            self._transport.keep()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        await self._transport.close()

    @property
    def blocking(self) -> BlockingClient:
        """The same for code without an event loop."""
        from onthedot.sdk.blocking import BlockingClient  # it is made of this module

        return BlockingClient(self)

    # JobsClient

    async def create_job(
        self, name: str, *, idempotency_key: str | None = None, **fields: Unpack[CreateKeywords]
    ) -> JobOut:
        """`fields` are those of a job in the API, in Python's spelling: `handler_url`, `cron`,
        `every`, `payload`, `retries` and so on.
        """
        body = spelled({"name": name, **fields})
        return await self._ask("POST", "/jobs", JobOut, body, key=idempotency_key)

    async def get_job(self, job_id: str) -> JobOut:
        return await self._ask("GET", _path("jobs", job_id), JobOut)

    async def find_job(self, key: str) -> JobOut:
        """The job with this key. Raises NotFound if there is none."""
        found = await self._ask("GET", "/jobs", JobList, query={"key": key})
        if not found.jobs:
            raise NotFound(
                f"{self._transport.server} has no job with the key '{key}'",
                hint="`onthedot serve --app module:app` brings the jobs of an app in.",
            )
        return found.jobs[0]

    async def list_jobs(self, *, limit: int = LISTED) -> list[JobOut]:
        """The newest ones first, `limit` of them at most."""
        return await self._all("/jobs", JobList, "jobs", limit)

    async def edit_job(self, job_id: str, **fields: Unpack[EditKeywords]) -> JobOut:
        """Change what is given; `version` refuses the edit if there is a newer one."""
        return await self._ask("PATCH", _path("jobs", job_id), JobOut, spelled(fields))

    async def delete_job(self, job_id: str) -> None:
        await self._send("DELETE", _path("jobs", job_id))

    async def trigger_job(
        self, job_id: str, *, idempotency_key: str | None = None, **fields: Unpack[TriggerKeywords]
    ) -> RunCreated:
        """Make a run: with `payload`, else the job's own; now, or with `run_at` or `delay`."""
        body, path = spelled(fields), _path("jobs", job_id, "trigger")
        return await self._ask("POST", path, RunCreated, body, key=idempotency_key)

    async def trigger_job_many(
        self, job_id: str, runs: Iterable[Mapping[str, Any]], *, idempotency_key: str | None = None
    ) -> list[RunCreated]:
        """Make a run for each of these, with the fields of a trigger.

        Up to 1000 that have 200 KB together go in one request and are made all or none; more of
        them go in several, one after the other.
        """
        encoded = [msgspec.json.encode(spelled(run)) for run in runs]
        path, made = _path("jobs", job_id, "trigger-many"), list[RunCreated]()
        for part, group in enumerate(_groups(encoded)):
            body = {"runs": [msgspec.Raw(each) for each in group]}
            key = None if idempotency_key is None else f"{idempotency_key}/{part}"
            made += (await self._ask("POST", path, RunsCreated, body, key=key)).runs
        return made

    # Runs

    async def get_run(self, run_id: str) -> RunDetail:
        """A run with every attempt."""
        return await self._ask("GET", _path("runs", run_id), RunDetail)

    async def list_runs(self, job_id: str, *, limit: int = LISTED) -> list[RunOut]:
        """Those of a job, the newest ones first, `limit` of them at most."""
        return await self._all(_path("jobs", job_id, "runs"), RunList, "runs", limit)

    async def cancel_run(self, run_id: str) -> RunCancelled:
        """`status` is `cancelled`, or what it was when the node that holds it was told."""
        return await self._ask("POST", _path("runs", run_id, "cancel"), RunCancelled)

    async def redrive_run(self, run_id: str) -> RunRedriven:
        """Run a dead letter again, as a new run."""
        return await self._ask("POST", _path("runs", run_id, "redrive"), RunRedriven)

    # Dead letters

    async def list_dead_letters(
        self, job_id: str | None = None, *, limit: int = LISTED
    ) -> list[DeadLetterOut]:
        """Those of all jobs or of one, the latest failure first, `limit` of them at most."""
        path = "/dead-letters" if job_id is None else _path("jobs", job_id, "dead-letters")
        return await self._all(path, DeadLetterList, "dead_letters", limit)

    async def get_dead_letter(self, run_id: str) -> DeadLetterDetail:
        return await self._ask("GET", _path("dead-letters", run_id), DeadLetterDetail)

    async def dismiss_dead_letter(self, run_id: str) -> None:
        await self._send("DELETE", _path("dead-letters", run_id))

    async def redrive_dead_letters(self, job_id: str) -> list[RunRedriven]:
        """Run every dead letter of a job again, oldest first."""
        path, runs = _path("jobs", job_id, "dead-letters", "redrive"), list[RunRedriven]()
        more = True
        while more:  # bounded: each answer has fewer left
            answer = await self._ask("POST", path, DeadLettersRedriven)
            runs += answer.runs
            more = answer.more
        return runs

    async def dismiss_dead_letters(self, job_id: str) -> int:
        """Let go of every dead letter of a job; how many there were."""
        path, count, more = _path("jobs", job_id, "dead-letters"), 0, True
        while more:  # bounded: each answer has fewer left
            answer = await self._ask("DELETE", path, DeadLettersDismissed)
            count += answer.dismissed
            more = answer.more
        return count

    # Calendars

    async def put_calendar(
        self,
        name: str,
        *,
        exclude: Iterable[str] = (),
        require: Iterable[str] = (),
        version: int | None = None,
    ) -> CalendarOut:
        """Make a calendar, or give it other rules: those it had are gone. `version` refuses that if
        there is a newer one.
        """
        body: dict[str, Any] = {"exclude": list(exclude), "require": list(require)}
        if version is not None:
            body["version"] = version
        return await self._ask("PUT", _path("calendars", name), CalendarOut, body)

    async def get_calendar(self, name: str) -> CalendarOut:
        return await self._ask("GET", _path("calendars", name), CalendarOut)

    async def list_calendars(self, *, limit: int = LISTED) -> list[CalendarOut]:
        """In the order of their names, `limit` of them at most."""
        return await self._all("/calendars", CalendarList, "calendars", limit)

    async def delete_calendar(self, name: str) -> None:
        """Refused while jobs follow it."""
        await self._send("DELETE", _path("calendars", name))

    # Inside

    async def _all(self, path: str, shape: type[S], name: str, limit: int) -> list[Any]:
        """The elements of a list, page after page."""
        found: list[Any] = []
        query: dict[str, str] = {}
        while len(found) < limit:
            query["limit"] = str(min(PAGE, limit - len(found)))
            page = await self._ask("GET", path, shape, query=query)
            found += getattr(page, name)
            cursor = getattr(page, "next_cursor")  # noqa: B009  (every list has one)
            if cursor is None:
                break
            query["cursor"] = cursor
        return found

    async def _ask(
        self, method: Method, path: str, shape: type[S], body: Any = None, **more: Any
    ) -> S:
        """The answer in its shape. `more`: `query`, and `key`, which is the Idempotency-Key."""
        text = await self._send(method, path, body, **more)
        try:
            return msgspec.json.decode(text, type=shape)
        except msgspec.MsgspecError as error:
            what = f"the answer of {self._transport.server} is not ours: {error}"
            raise OnthedotError(what, hint=NOT_OURS) from None

    async def _send(self, method: Method, path: str, body: Any = None, **more: Any) -> bytes:
        headers = {"Idempotency-Key": more["key"]} if more.get("key") else {}
        content = None if body is None else msgspec.json.encode(body)
        asked = TransportRequest(method, f"/v1{path}", more.get("query") or {}, content, headers)
        status, text = await self._transport.send(asked)
        if not 200 <= status < 300:
            raise refusal(self._transport.server, status, text)
        return text


class JobsClient:
    """The jobs of an app by their keys: each is looked up once. `loop`: on which they are enqueued,
    where it is one of this program's.
    """

    def __init__(self, client: Client, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self.client = client
        self.loop = loop
        self._ids: dict[str, str] = {}

    async def trigger(self, key: str, fields: Mapping[str, Any]) -> str:
        made = await self._known(key, partial(self.client.trigger_job, **fields))
        return str(made.run_id)

    async def trigger_many(self, key: str, runs: Sequence[Mapping[str, Any]]) -> list[str]:
        made = await self._known(key, partial(self.client.trigger_job_many, runs=runs))
        return [str(each.run_id) for each in made]

    async def _known(self, key: str, ask: Any) -> Any:
        """A job that was deleted and made again has another id: one that is gone is looked up."""
        known = self._ids.get(key)
        if known is not None:
            try:
                return await ask(known)
            except NotFound:
                del self._ids[key]
        self._ids[key] = (await self.client.find_job(key)).job_id
        return await ask(self._ids[key])


def _path(*parts: str) -> str:
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def _groups(encoded: Sequence[bytes]) -> Iterator[list[bytes]]:
    """What fits into one request each, in the same order."""
    group: list[bytes] = []
    size = 0
    for each in encoded:
        if group and (len(group) == TRIGGERS_MAX or size + len(each) > REQUEST_BYTES):
            yield group
            group, size = [], 0
        group.append(each)
        size += len(each)
    if group:
        yield group
