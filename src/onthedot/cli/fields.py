"""The fields of a job as options, and what was given of them as a request."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Literal, TypeVar, get_args, get_origin

import click

from onthedot.cli.values import duration, instant, payload
from onthedot.core.durations import format_duration
from onthedot.core.fields import FIELDS, Field, Kind, Where, declared
from onthedot.core.instants import SECOND
from onthedot.errors import WrongUse

COUNTLESS: Final = 1 << 53
"""A limit from here on is the format's, and tells nobody anything."""

F = TypeVar("F", bound=Callable[..., Any])

_BY_WIRE_NAME: Final = {each.wire_name: each for each in FIELDS}


def field_options(where: Where, *, besides: Iterable[str] = ()) -> Callable[[F], F]:
    """An option for every field that may be set there, under its name in the API."""
    fields = [each for each in declared(where) if each.name not in besides]
    # What an edit leaves out stays as it is, and a trigger's is the job's.
    with_default = bool(where & (Where.CREATE | Where.PREVIEW))

    def added(command: F) -> F:
        for each in reversed(fields):
            command = _option(each, with_default)(command)
        return command

    return added


def request_of(given: dict[str, Any]) -> dict[str, Any]:
    """The body of a request: what was given, under the names of the API."""
    body = {name: value for name, value in given.items() if value not in (None, ())}
    fields = {name: _BY_WIRE_NAME[name] for name in body if name in _BY_WIRE_NAME}
    schedules = [flag(each) for each in fields.values() if each.schedule]
    if len(schedules) > 1:
        said = " and ".join(schedules)
        raise WrongUse(f"{said} cannot be used together", hint="Keep one of them.")
    for name, field in fields.items():
        if field.shorthand:
            body[name] = {field.shorthand: body[name]}
        elif field.kind in (Kind.JSON, Kind.OBJECT):
            (body[name],) = body[name]
        elif field.kind is Kind.WORDS:
            body[name] = list(body[name])
    return body


def flag(field: Field) -> str:
    return field.option or "--" + field.name.replace("_", "-")


def _option(field: Field, with_default: bool) -> Callable[[F], F]:
    said = field.help.replace("`", "")
    if with_default and field.default not in (None, [], {}) and field.type is not bool:
        said += f"  [default: {_default(field)}]"
    if field.kind is Kind.WORDS:
        said += " May be given several times."
    name = flag(field)
    if field.type is bool:
        name = f"{name}/--no-{name.removeprefix('--')}"
    # What has one value only is accepted, and nothing to choose from.
    only = get_origin(field.type) is Literal and len(get_args(field.type)) == 1
    reading = _reading(field)
    return click.option(name, field.wire_name, help=said, default=None, hidden=only, **reading)


def _reading(field: Field) -> dict[str, Any]:
    match field.kind:
        case Kind.DURATION:
            return {"callback": duration, "metavar": "DURATION"}
        case Kind.INSTANT:
            return {"callback": instant, "metavar": "INSTANT"}
        case Kind.WORDS:
            return {"multiple": True}
        case Kind.OBJECT if field.shorthand:
            return {"metavar": field.shorthand.upper()}
        case Kind.JSON | Kind.OBJECT:
            return {"callback": payload, "metavar": "JSON|@FILE"}
    if get_origin(field.type) is Literal:
        return {"type": click.Choice(get_args(field.type))}
    if field.type is int:
        most = field.limits.get("le", COUNTLESS)
        within = click.IntRange(field.limits.get("ge"), most if most < COUNTLESS else None)
        return {"type": within, "metavar": "INTEGER"}
    return {} if field.type is bool else {"type": field.type}


def _default(field: Field) -> str:
    if field.kind is Kind.DURATION:
        return format_duration(int(field.default * SECOND))
    if field.members:
        return ", ".join(f"{name} {value}" for name, value in field.default.items())
    return str(field.default)
