"""Values on the command line, checked before anything is sent, and options that many share."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from onthedot.core.durations import parse_duration
from onthedot.core.instants import parse_instant
from onthedot.errors import WrongUse

F = TypeVar("F", bound=Callable[..., Any])


def duration(_ctx: click.Context, param: click.Parameter, value: str | None) -> float | str | None:
    """Seconds or an ISO 8601 duration, handed on as the API takes it."""
    if value is None:
        return None
    given: float | str = value
    with suppress(ValueError):
        given = float(value)
    parse_duration(given, field=param.opts[0])
    # 90 rather than 90.0: what people see in answers is what they wrote.
    return int(given) if isinstance(given, float) and given.is_integer() else given


def instant(_ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """An RFC 3339 instant, as text."""
    if value is not None:
        parse_instant(value, field=param.opts[0])
    return value


def payload(_ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[Any] | None:
    """JSON, or @file with JSON in it, or @- for standard input.

    The value comes in a tuple, so that the payload `null` is not taken for one that was not given.
    """
    if value is None:
        return None
    option = param.opts[0]
    text = text_of(option, value[1:]) if value.startswith("@") else value
    try:
        found = json.loads(text, parse_constant=_no_constant)
        json.dumps(found, allow_nan=False)  # 1e999 is read as infinity, which no JSON can say
    except (ValueError, RecursionError) as error:
        raise WrongUse(
            f"{option} is not valid JSON: {error}",
            hint='Quote it for the shell, as in \'{"to": "ana"}\', or use @file.',
            field="payload",
        ) from None
    return (found,)


def remote(command: F) -> F:
    """The options of every command that calls a server and gives data."""
    command = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")(
        command
    )
    return click.option(
        "--server",
        metavar="URL",
        help="The server to call.  [env: ONTHEDOT_SERVER; default: http://127.0.0.1:8467]",
    )(command)


def text_of(option: str, name: str) -> str:
    """What is in a file; `-` is standard input."""
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise WrongUse(
            f"{option} names the file '{name}', which cannot be read: {why}",
            hint="Check the path, or give the JSON itself.",
            field="payload",
        ) from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
