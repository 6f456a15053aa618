"""A small blocking client of the REST API, on the standard library: commands must start fast."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from onthedot import config
from onthedot.cli import output
from onthedot.errors import Conflict, NotFound, OnthedotError
from onthedot.ids import parse_job_id, shown

if TYPE_CHECKING:
    import http.client

TIMEOUT_S = 10.0
PAGE = 1000
PAGES_MAX = 1000
CANDIDATES_MAX = 10


@dataclass(frozen=True, slots=True)
class ApiResponse:
    status: int
    body: Any


@dataclass(frozen=True, slots=True)
class ApiClient:
    """Every call is one connection: nothing is kept that a restart of the server could break."""

    server: str
    api_key: str | None = field(default=None, repr=False)
    timeout_s: float = TIMEOUT_S

    def get(self, path: str, **query: str | int) -> Any:
        return self.call("GET", f"{path}?{urlencode(query)}" if query else path).body

    def post(self, path: str, body: Any = None) -> Any:
        return self.call("POST", path, body).body

    def patch(self, path: str, body: Any) -> Any:
        return self.call("PATCH", path, body).body

    def call(self, method: str, path: str, body: Any = None) -> ApiResponse:
        """One request; anything but success is raised, in the server's own words if it has any."""
        status, text = self._exchange(method, path, None if body is None else json.dumps(body))
        if not 200 <= status < 300:
            # Reading a refusal brings the shapes of the API along: a success need not wait for it.
            from onthedot.wire.refusals import refusal

            raise refusal(self.server, status, text)
        document = _document(text)
        if document is None and text:
            raise self._stranger(f"answered HTTP {status} with something that is not JSON")
        return ApiResponse(status, document)

    def items(self, path: str, key: str, *, limit: int | None = None) -> Iterator[dict[str, Any]]:
        """The elements of a list, page after page, `limit` of them at most."""
        query: dict[str, str | int] = {}
        left = limit if limit is not None else PAGE * PAGES_MAX
        for _ in range(PAGES_MAX):
            page = self.get(path, limit=min(left, PAGE), **query)
            if not isinstance(page, dict) or not isinstance(page.get(key), list):
                raise self._stranger(f"has no '{key}' in its answer")
            yield from page[key][:left]
            left -= len(page[key])
            if left <= 0 or not page.get("nextCursor"):
                return
            query = {"cursor": page["nextCursor"]}

    def _exchange(self, method: str, path: str, body: str | None) -> tuple[int, bytes]:
        from http.client import HTTPException

        connection = self._connection()
        base = urlsplit(self.server).path
        try:
            connection.request(method, f"{base}/v1{path}", body=body, headers=self._headers(body))
            response = connection.getresponse()
            return response.status, response.read()
        except ConnectionRefusedError:
            raise self._silent("") from None
        except TimeoutError:
            raise self._silent(f" within {self.timeout_s:g} s") from None
        except OSError as error:
            raise self._silent(f" ({error.strerror or error})") from None
        except HTTPException as error:
            raise self._stranger(f"does not speak HTTP ({type(error).__name__})") from None
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        # http.client pulls in ssl and email: not before a call is really made. It is used instead
        # of urllib.request since that follows redirects with the key, and proxies to loopback.
        import http.client

        parts = urlsplit(self.server)
        assert parts.hostname is not None, "the settings were checked"
        if parts.scheme == "https":
            return http.client.HTTPSConnection(parts.hostname, parts.port, timeout=self.timeout_s)
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=self.timeout_s)

    def _headers(self, body: str | None) -> dict[str, str]:
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if self.api_key is not None:
            headers["Authorization"] = f"Bearer {self.api_key}"
        return headers

    def _silent(self, how: str) -> OnthedotError:
        return OnthedotError(
            f"no server answers at {self.server}{how}",
            hint="Start one with `onthedot serve`, or name one with --server or ONTHEDOT_SERVER.",
        )

    def _stranger(self, what: str) -> OnthedotError:
        from onthedot.wire.refusals import NOT_OURS

        return OnthedotError(f"what answers at {self.server} {what}", hint=NOT_OURS)


def connect(server: str | None) -> ApiClient:
    """A client for the server that flag, environment or file name."""
    settings = config.load({"server": server})
    for warning in settings.warnings:
        output.note(f"warning: {warning}")
    return ApiClient(settings.server, settings.api_key)


def find_job(client: ApiClient, text: str) -> str:
    """The id of the job that `text` names: an id, a key, or a name that only one job has."""
    try:
        parse_job_id(text)
    except NotFound:
        return _by_key_or_name(client, text)
    return text


def path_of(kind: str, identity: str, *rest: str) -> str:
    return "/".join(["", kind, quote(identity, safe=""), *rest])


def _by_key_or_name(client: ApiClient, text: str) -> str:
    named: list[dict[str, Any]] = []
    for job in client.items("/jobs", "jobs"):
        if job.get("key") == text:
            return str(job["jobId"])
        if job.get("name") == text and len(named) <= CANDIDATES_MAX:
            named.append(job)
    if not named:
        raise NotFound(
            f"there is no job with the id, key or name '{shown(text)}'",
            hint="`onthedot job list` shows them all.",
        )
    if len(named) > 1:
        raise Conflict(
            f"several jobs are named '{shown(text)}':\n" + _candidates(named),
            hint="Use the id.",
        )
    return str(named[0]["jobId"])


def _candidates(jobs: list[dict[str, Any]]) -> str:
    lines = [
        f"  {job['jobId']}  {job.get('handlerUrl') or job.get('handler') or ''}"
        for job in jobs[:CANDIDATES_MAX]
    ]
    return "\n".join([*lines, "  …"] if len(jobs) > CANDIDATES_MAX else lines)


def _document(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
