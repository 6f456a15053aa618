"""Every failure as a problem document (RFC 9457), with the next step in it."""

from __future__ import annotations

import re
import traceback
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException
from litestar.types import ExceptionHandlersMap, Send
from msgspec import UNSET

from onthedot.core.states import Status
from onthedot.errors import (
    Conflict,
    Invalid,
    NotFound,
    OnthedotError,
    StoreFull,
    StoreUnavailable,
    Taken,
)
from onthedot.ids import shown
from onthedot.observe.events import warn
from onthedot.wire import Malformed, Problem
from onthedot.wire.refusals import problem_type, words_of

MEDIA_TYPE: Final = "application/problem+json"
RETRY_AFTER_S: Final = 1

_STATUSES: Final[dict[type, int]] = {
    Malformed: 400,
    Invalid: 422,
    NotFound: 404,
    Conflict: 409,
    StoreUnavailable: 503,
    Taken: 503,
    StoreFull: 507,
}
_HINTS: Final = {
    400: "Send the request again, whole and in order.",
    404: "GET /openapi.json describes every path; /docs shows them.",
    405: "GET /openapi.json tells which methods a path has.",
    413: "Send at most 256 KB; a payload may have 64 KB.",
    503: "Try again. With the same Idempotency-Key nothing is done twice.",
    507: "Free some space on the server's disk.",
}


def problem_of(error: OnthedotError, *, run_status: Status | None = None) -> Problem:
    status = next((_STATUSES[kind] for kind in type(error).__mro__ if kind in _STATUSES), 500)
    words = words_of(type(error))
    return Problem(
        type=problem_type(words),
        title=words,
        status=status,
        detail=error.message,
        hint=error.hint or _HINTS.get(status, ""),
        field=error.field or UNSET,
        position=(isinstance(error, Invalid) and error.position) or UNSET,
        run_status=run_status or UNSET,
    )


def plain_problem(status: int, detail: str, hint: str = "") -> Problem:
    """A problem that HTTP itself has a name for."""
    title = HTTPStatus(status).phrase.capitalize()
    return Problem(
        type=problem_type(title),
        title=title,
        status=status,
        detail=detail,
        hint=hint or _HINTS.get(status, ""),
    )


def problem_response(problem: Problem, headers: Mapping[str, str] | None = None) -> Response[bytes]:
    waits = {"Retry-After": str(RETRY_AFTER_S)} if problem.status == 503 else {}
    return Response(
        msgspec.json.encode(problem),
        status_code=problem.status,
        media_type=MEDIA_TYPE,
        headers={**waits, **(headers or {})},
    )


async def send_problem(send: Send, problem: Problem, headers: Mapping[str, str]) -> None:
    """The same from outside the framework, where there is no request object yet."""
    body = msgspec.json.encode(problem)
    fields = {"content-type": MEDIA_TYPE, "content-length": str(len(body)), **headers}
    raw = [(name.lower().encode(), value.encode()) for name, value in fields.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": raw})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def _from_error(request: Request[Any, Any, Any], error: OnthedotError) -> Response[bytes]:
    problem = problem_of(error)
    if problem.status == 500:
        return _from_accident(request, error)
    if problem.status > 500:
        warn("api.store", method=request.method, path=request.url.path, error=error.message)
    return problem_response(problem)


def _from_http(request: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    where = f"{request.method} {shown(request.url.path)}"
    details = {
        404: f"there is nothing at {where}",
        405: f"{where} is not possible",
        413: "the body is larger than 256 KB",
    }
    problem = plain_problem(error.status_code, details.get(error.status_code, error.detail))
    if problem.status >= 500:
        return _from_accident(request, error)
    headers = {"Allow": _allowed(request)} if problem.status == 405 else error.headers
    return problem_response(problem, headers)


def _allowed(request: Request[Any, Any, Any]) -> str:
    """The methods of the path, which HTTP wants to be told with a 405."""
    path = request.url.path.rstrip("/")
    return ", ".join(
        sorted(
            method
            for template, methods in request.app.route_handler_method_map.items()
            if re.fullmatch(re.sub(r"\{.*?\}", "[^/]+", template), path)
            for method in methods
        )
    )


def _from_accident(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """Our own mistake: the whole story goes to the log, none of it to the caller."""
    trace = "".join(traceback.format_exception(error)).rstrip()
    warn("api.failed", method=request.method, path=request.url.path, trace=trace)
    return problem_response(
        plain_problem(
            500,
            "the server failed on this request",
            "It is a fault of the server; its log has the event api.failed with the cause.",
        )
    )


HANDLERS: Final[ExceptionHandlersMap] = {
    OnthedotError: _from_error,
    HTTPException: _from_http,
    Exception: _from_accident,
}
