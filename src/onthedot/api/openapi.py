"""The OpenAPI 3.1 document, made from what routes declare and from the structs of the wire."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

import msgspec

from onthedot.api.operation import IN_PATH, Operation, Parameter
from onthedot.api.problems import MEDIA_TYPE
from onthedot.api.routes import ROUTES
from onthedot.api.routing import Route
from onthedot.wire import Problem
from onthedot.wire.notices import FailureNotice

_REF: Final = "#/components/schemas/{name}"

_INTRODUCTION: Final = """\
Every due occurrence runs on the dot, once, and is accounted for.

* Ids are opaque texts. Instants are RFC 3339 in UTC with `Z`. Durations are seconds (fractions
  allowed) or ISO 8601 texts; in answers they are seconds.
* An integer may be written as `3.0`. A field that occurs twice is refused.
* Unknown fields are refused by name. Every failure is a problem document (RFC 9457) with a `hint`.
* With an API key set, everything but the health paths needs `Authorization: Bearer …` or
  `X-API-Key`. Every path under `/v1` also answers without the prefix.
"""

_MEANINGS: Final = {
    400: "The body is not a JSON object.",
    401: "The API key is missing or wrong.",
    403: "A page of another site may not write here, or `Host` is not a name of this server.",
    404: "There is no such thing, or it was deleted.",
    409: "It is there, but not in a state that allows this.",
    413: "The body is larger than 256 KB.",
    422: "A field is wrong: `field` names it, `hint` tells the next step. Nothing was written.",
    503: "The database does not answer: try again after `Retry-After` seconds.",
    507: "The server's disk is full.",
}

_EXAMPLE_PROBLEM: Final = {
    "type": "urn:onthedot:problem:invalid-cron",
    "title": "Invalid cron",
    "status": 422,
    "detail": "minute '75' in '75 * * * *' is out of range 0-59",
    "hint": "Use 0-59, '*', a list, a range or a step such as '*/2'.",
    "field": "cronExpr",
}


_NOTICE_HEADERS: Final = (
    Parameter("header", "Idempotency-Key", "The `deliveryId`.", {"type": "string", "minLength": 1}),
    Parameter(
        "header",
        "Onthedot-Signature",
        "Seconds since the epoch, and for each secret the HMAC-SHA256 of `t.body` in hexadecimal.",
        {"type": "string", "examples": ["t=1801387800,v1=5257a869e7…"]},
    ),
)

TAGS: Final = ("Jobs", "Calendars", "Runs", "Dead letters", "Audit", "Server")


@cache
def document(version: str) -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    parameters: dict[str, Any] = {}
    for route, operation in _described():
        named = [IN_PATH[name] for name in route.names] + list(operation.parameters)
        parameters |= {each.key: _parameter(each) for each in named}
        path = operation.prefix + _path(route)
        paths.setdefault(path, {})[route.method.lower()] = _operation(route, operation, named)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "onthedot",
            "version": version,
            "description": _INTRODUCTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{}, {"bearer": []}, {"apiKey": []}],
        "tags": [{"name": name} for name in TAGS],
        "paths": paths,
        "webhooks": {"runFailed": {"post": _failure_notice()}},
        "components": {
            "schemas": _schemas(),
            "parameters": parameters,
            "responses": {f"Problem{status}": _problem(status) for status in _MEANINGS},
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            },
        },
    }


def _failure_notice() -> dict[str, Any]:
    return {
        "operationId": "runFailed",
        "tags": ["Runs"],
        "summary": "A run failed for good, or is lost",
        "description": "Sent to the URL of the job's `onFailure`, at least once: again after "
        "anything but 2xx within 10 seconds, for 24 hours. Repeats have the same `deliveryId`.",
        "parameters": [_parameter(each) for each in _NOTICE_HEADERS],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": _ref(FailureNotice)}},
        },
        "responses": {"2XX": {"description": "Received: it is not sent again."}},
    }


def _described() -> Iterator[tuple[Route, Operation]]:
    return ((each, each.operation) for each in ROUTES if each.operation is not None)


def _path(route: Route) -> str:
    """With the names that callers know."""
    return route.path.format(**{name: f"{{{IN_PATH[name].name}}}" for name in route.names})


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.place == "path",
        "description": parameter.about,
        "schema": parameter.schema,
    }


def _operation(
    route: Route, operation: Operation, parameters: Sequence[Parameter]
) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": route.id,
        "tags": [operation.tag],
        "summary": operation.summary,
        "parameters": [{"$ref": f"#/components/parameters/{each.key}"} for each in parameters],
        "responses": {
            **{
                str(status): _answer(description, shape, operation.or_answer)
                for status, (description, shape) in operation.answers.items()
            },
            **{
                str(status): {"$ref": f"#/components/responses/Problem{status}"}
                for status in sorted(operation.problems)
            },
        },
    }
    if operation.about:
        described["description"] = operation.about
    if operation.body is not None:
        content = {"schema": _ref(operation.body), "example": operation.example}
        described["requestBody"] = {
            "required": operation.body_required,
            "content": {"application/json": content},
        }
    return described


def _answer(
    description: str, shape: type[msgspec.Struct] | None, other: type[msgspec.Struct] | None
) -> dict[str, Any]:
    if shape is None:
        return {"description": description}
    schema: dict[str, Any] = _ref(shape)
    if other is not None:
        schema = {"oneOf": [schema, _ref(other)]}
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _problem(status: int) -> dict[str, Any]:
    content: dict[str, Any] = {"schema": _ref(Problem)}
    if status == 422:
        content["example"] = _EXAMPLE_PROBLEM
    return {"description": _MEANINGS[status], "content": {MEDIA_TYPE: content}}


def _ref(shape: type[msgspec.Struct]) -> dict[str, str]:
    return {"$ref": _REF.format(name=shape.__name__)}


def _schemas() -> dict[str, Any]:
    shapes: list[type[msgspec.Struct]] = [Problem, FailureNotice]
    for _, operation in _described():
        shapes += [shape for _, shape in operation.answers.values() if shape is not None]
        shapes += [shape for shape in (operation.body, operation.or_answer) if shape is not None]
    _, schemas = msgspec.json.schema_components(list(dict.fromkeys(shapes)), ref_template=_REF)
    for schema in schemas.values():
        for member in schema.get("properties", {}).values():
            _hoist(member)
    return schemas


def _hoist(member: dict[str, Any]) -> None:
    """What is said about the first choice of a nullable field is said about the field."""
    first = member.get("anyOf", [{}])[0]
    for said in ("description", "examples", "default"):
        if said in first and said not in member:
            member[said] = first.pop(said)
