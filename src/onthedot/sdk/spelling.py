"""From Python's spelling to the API's: names, spans of time and instants."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from onthedot.errors import Invalid

_SHORT = {"cron": "cronExpr"}


def spelled(fields: Mapping[str, Any]) -> dict[str, Any]:
    """`catch_up_window=timedelta(hours=1)` becomes `{"catchUpWindow": 3600.0}`."""
    return {_camel(name): said(value, name) for name, value in fields.items()}


def said(value: Any, field: str) -> Any:
    """A value as the API takes it. An instant without a time zone is refused: whose would it be?"""
    if isinstance(value, timedelta):
        return value.total_seconds()
    if not isinstance(value, datetime):
        return value
    if value.tzinfo is None:
        raise Invalid(
            f"{value.isoformat()} has no time zone",
            hint="Use datetime.now(UTC) or a ZoneInfo.",
            field=field,
        )
    return value.astimezone(UTC).isoformat()


def _camel(name: str) -> str:
    first, *rest = _SHORT.get(name, name).split("_")
    return first + "".join(part.capitalize() for part in rest)
