"""Time zones: names checked strictly, and the offsets around a change of the clocks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from onthedot.errors import InvalidTimezone

_NAME_LENGTH_MAX: Final = 64
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# Neither says where it is: one is this machine's zone, the other means "not set up".
_NOT_PLACES: Final = {"localtime", "Factory"}


@lru_cache(maxsize=1)
def known_zones() -> frozenset[str]:
    return frozenset(available_timezones()) - _NOT_PLACES


def zone_named(name: str, *, field: str = "timezone") -> ZoneInfo:
    """The zone of an IANA name. The list of names is the gate: outside text opens no file."""
    if name in known_zones():
        return ZoneInfo(name)
    if not name:
        raise InvalidTimezone(f"{field} is empty", hint=_nearest(""), field=field)
    if len(name) > _NAME_LENGTH_MAX:
        raise InvalidTimezone(
            f"{field} {name[:32]!r}... has {len(name)} characters, no zone has that many",
            hint=_nearest(""),
            field=field,
        )
    raise InvalidTimezone(
        f"{field} {name!r} is not a known time zone", hint=_nearest(name), field=field
    )


def offset_at(zone: ZoneInfo, second: int) -> int:
    """Seconds east of UTC at this second since the epoch."""
    moment = (_EPOCH + timedelta(seconds=second)).astimezone(zone)
    return _seconds(moment.utcoffset())


def offsets_of(zone: ZoneInfo, wall: int) -> tuple[int, int]:
    """The offsets a wall-clock reading can have: (earlier, later) pass, as PEP 495 has it.

    Equal: an ordinary time. First larger: it comes twice. First smaller: it is in a gap.
    `wall` is seconds since the epoch as the local clock would count them.
    """
    local = (_EPOCH + timedelta(seconds=wall)).replace(tzinfo=zone)
    return _seconds(local.utcoffset()), _seconds(local.replace(fold=1).utcoffset())


def change_after(zone: ZoneInfo, before: int, until: int) -> int:
    """The second the clocks change, given that they do once in (before, until]."""
    old = offset_at(zone, before)
    while until - before > 1:  # halves: 17 turns for a whole day
        middle = (before + until) // 2
        if offset_at(zone, middle) == old:
            before = middle
        else:
            until = middle
    return until


def _seconds(offset: timedelta | None) -> int:
    assert offset is not None, "a zone always knows its offset"
    return offset.days * 86_400 + offset.seconds


def _nearest(name: str) -> str:
    by_folded = {known.casefold(): known for known in sorted(known_zones())}
    # People also give only the city.
    by_folded.update({k.rpartition("/")[2]: v for k, v in by_folded.items() if k.count("/") == 1})
    close = get_close_matches(name.casefold().replace(" ", "_"), by_folded, n=3, cutoff=0.7)
    names = list(dict.fromkeys(by_folded[match] for match in close))
    if names:
        return f"Did you mean {' or '.join(names)}?"
    return "Use an IANA name such as UTC, Europe/Berlin or America/New_York."
