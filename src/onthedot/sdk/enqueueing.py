"""Enqueueing in the caller's own transaction: the run is there if and when that commits.

The work is done by the SQL function `onthedot_enqueue`. Here it is only called, through whatever
the caller has: asyncpg, psycopg 3 or SQLAlchemy, none of which is imported by us.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Coroutine, Sequence
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import Any, TypeVar

from onthedot.errors import Invalid
from onthedot.wire.reading import payload_text

T = TypeVar("T")

DRIVERS = ("asyncpg", "psycopg", "sqlalchemy")
_NAMED = (files("onthedot.sdk") / "sql" / "enqueue.sql").read_text().partition("\n")[2]
_PARAMETER = re.compile(r":(\w+)")
_NAMES = ("key", "payloads", "run_at", "delay")
_NUMBERED = _PARAMETER.sub(lambda found: f"${_NAMES.index(found[1]) + 1}", _NAMED)
_PERCENT = _PARAMETER.sub(r"%(\1)s", _NAMED)


async def enqueue(
    connection: Any,
    key: str,
    payloads: Sequence[Any],
    *,
    at: datetime | None = None,
    delay: float | timedelta | None = None,
) -> list[str]:
    """Make a run of the job with this key for each payload; returns their ids."""
    values = {
        "key": key,
        "payloads": f"[{','.join(payload_text(each) for each in payloads)}]",
        "run_at": None if at is None else _zoned(at).isoformat(),
        "delay": None if delay is None else f"{_seconds(delay):.6f} seconds",
    }
    driver = driver_of(connection)
    if driver == "asyncpg":
        answer = await connection.fetchval(_NUMBERED, *values.values())
    elif driver == "psycopg":
        # Whatever rows the connection makes, this is a plain one.
        cursor = connection.cursor(row_factory=sys.modules["psycopg"].rows.tuple_row)
        await _settled(cursor.execute(_PERCENT, values))
        (answer,) = await _settled(cursor.fetchone())
    else:
        statement = sys.modules["sqlalchemy"].text(_NAMED)
        answer = (await _settled(connection.execute(statement, values))).scalar_one()
    return str(answer).split() if answer else []


def finished(work: Coroutine[Any, Any, T], connection: Any) -> T:
    """The same for a caller without an event loop, whose connection never makes it wait."""
    if _is_async(connection):
        work.close()
        raise Invalid(
            f"{type(connection).__name__} needs an event loop",
            hint="Use `await fn.enqueue(…, connection=…)`, or a blocking connection.",
            field="connection",
        )
    try:
        work.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    raise AssertionError("a blocking connection made its caller wait")


def driver_of(connection: Any) -> str:
    for base in type(connection).__mro__:
        name = base.__module__.partition(".")[0]
        if name in DRIVERS:
            return name
    raise Invalid(
        f"a {type(connection).__module__}.{type(connection).__name__} cannot be enqueued through",
        hint="Give a connection of asyncpg or psycopg 3, or a connection or session of SQLAlchemy.",
        field="connection",
    )


def _is_async(connection: Any) -> bool:
    return driver_of(connection) == "asyncpg" or any(
        base.__name__.startswith("Async") or ".asyncio" in base.__module__
        for base in type(connection).__mro__
    )


async def _settled(answer: Any) -> Any:
    return await answer if inspect.isawaitable(answer) else answer


def _zoned(at: datetime) -> datetime:
    if at.tzinfo is None:
        raise Invalid(
            f"{at.isoformat()} has no time zone",
            hint="Use datetime.now(UTC) or a ZoneInfo.",
            field="at",
        )
    return at.astimezone(UTC)


def _seconds(delay: float | timedelta) -> float:
    seconds = delay.total_seconds() if isinstance(delay, timedelta) else delay
    if seconds < 0:
        raise Invalid(
            f"the delay of {seconds:g} s is negative", hint="Leave it out.", field="delay"
        )
    return seconds
