"""Every failure as a problem document (RFC 9457), with the next step in it."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import msgspec
from msgspec import UNSET

from onthedot.api.http import HttpError, Request, Response
from onthedot.core.states import Status
from onthedot.errors import (
    Conflict,
    Invalid,
    NotFound,
    OnthedotError,
    StoreFull,
    StoreUnavailable,
    StoreWentBack,
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
    StoreWentBack: 503,
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


def problem_response(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    waits = {"Retry-After": str(RETRY_AFTER_S)} if problem.status == 503 else {}
    body = msgspec.json.encode(problem)
    return Response(body, problem.status, MEDIA_TYPE, {**waits, **(headers or {})})


def answer_to(request: Request, error: Exception) -> Response:
    """What the caller is told of an error that nobody else has caught."""
    if isinstance(error, HttpError):
        return _from_http(request, error)
    if isinstance(error, OnthedotError):
        return _from_error(request, error)
    return _from_accident(request, error)


def _from_error(request: Request, error: OnthedotError) -> Response:
    problem = problem_of(error)
    if problem.status == 500:
        return _from_accident(request, error)
    if problem.status > 500:
        warn("api.store", method=request.method, path=request.path, error=error.message)
    return problem_response(problem)


def _from_http(request: Request, error: HttpError) -> Response:
    where = f"{request.method} {shown(request.path)}"
    details = {
        404: f"there is nothing at {where}",
        405: f"{where} is not possible",
        413: "the body is larger than 256 KB",
    }
    detail = details.get(error.status, error.detail)
    return problem_response(plain_problem(error.status, detail), error.headers)


def _from_accident(request: Request, error: Exception) -> Response:
    """Our own mistake: the whole story goes to the log, none of it to the caller."""
    trace = "".join(traceback.format_exception(error)).rstrip()
    warn("api.failed", method=request.method, path=request.path, trace=trace)
    return problem_response(
        plain_problem(
            500,
            "the server failed on this request",
            "It is a fault of the server; its log has the event api.failed with the cause.",
        )
    )
