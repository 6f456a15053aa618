"""Between a job's fields on the wire and where its definition keeps them, as they are declared."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from operator import attrgetter
from typing import Any, Final

from msgspec import UNSET, Raw, Struct
from msgspec.structs import astuple

from onthedot.core.durations import format_duration, parse_duration
from onthedot.core.fields import FIELDS, Field, Kind
from onthedot.core.instants import DAY, HOUR, SECOND, Instant, format_instant, parse_instant
from onthedot.core.model import Definition
from onthedot.core.schedules.zones import zone_named
from onthedot.errors import Invalid
from onthedot.wire.reading import payload_text

_NAMED: Final = {each.name: each for each in FIELDS}


def with_given(old: Definition, given: Struct) -> Definition:
    """The definition with what a request says of the fields that are kept as they are declared."""
    changes: dict[str, Any] = {}
    for value, slot in zip(astuple(given), _slots(type(given)), strict=True):
        if value is UNSET or slot is None:
            continue
        whole, part, read = slot
        new = value if read is None or value is None else read(value)
        if part:
            new = changes.get(whole, getattr(old, whole))._replace(**{part: new})
        changes[whole] = new
    return old._replace(**changes)


def shown(definition: Definition) -> dict[str, Any]:
    """The same fields, as an answer shows them."""
    values = dict(zip(_KEPT_NAMES, _KEPT(definition), strict=True))
    for name, write in _WRITES:
        if values[name] is not None:
            values[name] = write(values[name])
    return values


def duration_of(value: object, field: Field, path: str) -> int:
    """In microseconds, within the limits of the field."""
    us = parse_duration(value, field=path)
    if us < field.least_us:
        raise Invalid(
            f"{path} {format_duration(us)} is not more than 0",
            hint="Give seconds (30) or an ISO 8601 duration ('PT5M').",
            field=path,
        )
    if field.most_us is not None and us > field.most_us:
        days, hours = field.most_us // DAY, field.most_us // HOUR
        most = f"{days} days" if days > 1 else f"{hours} hours"
        raise Invalid(
            f"{path} {format_duration(us)} is longer than {most}",
            hint=f"Use {most} or less.",
            field=path,
        )
    return us


def instant_text(instant: Instant | None) -> str | None:
    return None if instant is None else format_instant(instant)


def seconds(us: int) -> float:
    """Whole seconds stay whole, so that 60 is not answered as 60.0."""
    return us / SECOND if us % SECOND else us // SECOND


@cache
def _slots(shape: type[Struct]) -> tuple[tuple[str, str, Callable[[Any], Any] | None] | None, ...]:
    """Where each field of a struct is kept, whole or in part, and how it is read; None: by code of
    its own.
    """
    return tuple(_slot(_NAMED[name]) for name in shape.__struct_fields__)


def _slot(field: Field) -> tuple[str, str, Callable[[Any], Any] | None] | None:
    whole, _, part = field.at.partition(".")
    return (whole, part, _reader(field)) if whole else None


def _reader(field: Field) -> Callable[[Any], Any] | None:
    match field.kind:
        case Kind.DURATION:
            return partial(duration_of, field=field, path=field.wire_name)
        case Kind.INSTANT:
            return partial(parse_instant, field=field.wire_name)
        case Kind.ZONE:
            return _known_zone
        case Kind.WORDS:
            return _each_once
        case Kind.JSON:
            return payload_text
    return None


def _known_zone(name: str) -> str:
    zone_named(name)
    return name


def _each_once(words: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))


def _raw(text: str) -> Raw:
    return Raw(text.encode())


_WRITERS: Final[dict[Kind, Callable[[Any], Any]]] = {
    Kind.DURATION: seconds,
    Kind.INSTANT: format_instant,
    Kind.JSON: _raw,
}
_KEPT_FIELDS: Final = tuple(each for each in FIELDS if each.at)
_KEPT_NAMES: Final = tuple(each.name for each in _KEPT_FIELDS)
_KEPT: Final = attrgetter(*(each.at for each in _KEPT_FIELDS))
_WRITES: Final = tuple(
    (each.name, _WRITERS[each.kind]) for each in _KEPT_FIELDS if each.kind in _WRITERS
)
