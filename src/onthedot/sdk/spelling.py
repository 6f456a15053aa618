"""From Python's spelling to the API's: names, spans of time and instants."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from onthedot.core.fields import FIELDS
from onthedot.errors import Invalid

_KEYWORDS = {name: each for each in FIELDS for name in (each.name, each.keyword or each.name)}


def spelled(fields: Mapping[str, Any]) -> dict[str, Any]:
    """`catch_up_window=timedelta(hours=1)` becomes `{"catchUpWindow": 3600.0}`."""
    return dict(_spelled(name, value) for name, value in fields.items())


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


def _spelled(name: str, value: Any) -> tuple[str, Any]:
    field = _KEYWORDS.get(name)
    if field is None:  # the server refuses it, and knows what is meant
        return name, said(value, name)
    if field.shorthand and isinstance(value, str):
        return field.wire_name, {field.shorthand: value}
    return field.wire_name, said(value, name)
