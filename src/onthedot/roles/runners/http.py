"""HTTP callbacks: the payload is posted to the job's URL, and the status decides."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from types import MappingProxyType

import aiohttp
from aiohttp.http_exceptions import ContentEncodingError

from onthedot.core.instants import format_instant
from onthedot.core.node_faults import ResolverDown, fault_of
from onthedot.core.outcomes import OUTPUT_BYTES_MAX, Result, http_result
from onthedot.roles.runners import Call, TaskRunner
from onthedot.roles.runners.resolving import Resolver

# Many servers close an idle connection after 5 s, some after 2: a connection kept longer would
# now and then be closed just as we use it, and fail an attempt for nothing.
KEEP_ALIVE_S = 1.5

_NO_TIMEOUT = aiohttp.ClientTimeout(total=None)
_COMMON = MappingProxyType({"Content-Type": "application/json"})


class HttpRunner(TaskRunner):
    def __init__(self, *, version: str) -> None:
        # limit=0: the worker's slots bound how many calls are under way. No cookies, no proxies
        # from the environment: a callback is what the job says, and nothing else.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0, keepalive_timeout=KEEP_ALIVE_S, resolver=Resolver()
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=_NO_TIMEOUT,
            headers={"User-Agent": f"onthedot/{version}"},
            trust_env=False,
            auto_decompress=True,
        )

    async def run(self, call: Call) -> Result:
        return await self.post(call.url, call.payload.encode(), _headers(call))

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Result:
        """The one way in which anything of ours calls a URL of a user's."""
        try:
            async with self._session.post(
                url, data=body, headers=headers, allow_redirects=False
            ) as response:
                output, broken = await _beginning(response)
                return http_result(response.status, output, broken=broken)
        except aiohttp.ClientConnectorError as error:
            return Result(error=_in_words(error), fault=fault_of(error.os_error), unsent=True)
        except (aiohttp.ClientError, OSError) as error:
            return Result(error=_in_words(error), fault=fault_of(error))
        except ValueError as error:
            return Result(error=f"the URL cannot be called: {error}", retryable=False)

    async def close(self) -> None:
        await self._session.close()


def _headers(call: Call) -> dict[str, str]:
    return {
        **_COMMON,
        "Idempotency-Key": call.run_id,
        "Onthedot-Job": call.job_id,
        "Onthedot-Run": call.run_id,
        "Onthedot-Attempt": str(call.attempt),
        "Onthedot-Scheduled-For": format_instant(call.scheduled_for),
    }


async def _beginning(response: aiohttp.ClientResponse) -> tuple[str, str]:
    """As much of the body as is kept, the rest is not even read; and what broke it off, if its end
    never came.
    """
    read, broken = bytearray(), ""
    try:
        while len(read) <= OUTPUT_BYTES_MAX:
            chunk = await response.content.read(OUTPUT_BYTES_MAX + 1 - len(read))
            if not chunk:
                break
            read += chunk
    except (aiohttp.ClientPayloadError, aiohttp.ClientConnectionError) as error:
        # An encoding that cannot be undone is no sign that anything is missing.
        if not isinstance(error.__cause__, ContentEncodingError):
            broken = f"the answer (HTTP {response.status}) broke off: {_cause(error)}"
    return _decoded(read, response.charset), broken


def _cause(error: Exception) -> str:
    """What the library was told itself, without its wrapping."""
    inner = error.__cause__ or error
    return str(getattr(inner, "message", "") or inner).partition("\n")[0]


def _decoded(read: bytearray, charset: str | None) -> str:
    try:
        return read.decode(charset or "utf-8", "replace")
    except (LookupError, ValueError):  # a charset that nobody knows, or that is none for text
        return read.decode("utf-8", "replace")


def _in_words(error: Exception) -> str:
    """What went wrong on the way, as a sentence with the cause in it."""
    if isinstance(error, aiohttp.ClientConnectorError):
        # Several addresses make asyncio word it itself; the number has the plain reason.
        number = error.os_error.errno
        plain = number and not isinstance(error.os_error, socket.gaierror | ResolverDown)
        reason = os.strerror(number or 0) if plain else error.os_error.strerror or error.os_error
        return f"cannot connect to {error.host}:{error.port}: {reason}"
    if isinstance(error, aiohttp.ClientResponseError):
        return f"the answer is not HTTP: {error.message}"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "the server closed the connection without an answer"
    return f"network error: {type(error).__name__}: {error}".rstrip(": ")
