"""Time zones: names checked strictly, and the offsets around a DST change."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, NamedTuple, Protocol
from weakref import WeakSet
from zoneinfo import ZoneInfo, available_timezones

from onthedot.core.closest import KnownWords
from onthedot.errors import InvalidTimezone

_NAME_LENGTH_MAX: Final = 64
_HINT: Final = "Use an IANA name such as UTC, Europe/Berlin or America/New_York."
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# Neither says where it is: one is this machine's zone, the other means "not set up".
_NOT_PLACES: Final = {"localtime", "Factory"}

# The clocks of a zone never change twice within a probe: the shortest time between two changes
# since 1970 is six days and 23 hours (Recife in 2000, Gaza in 2040). A test holds it against the
# whole tz database.
_PROBE_S: Final = 6 * 86_400
_STRETCH_S: Final = 61 * _PROBE_S
_OFFSET_MAX: Final = 86_400  # no zone is a whole day off


@lru_cache(maxsize=1)
def known_zones() -> frozenset[str]:
    return frozenset(available_timezones()) - _NOT_PLACES


def zone_named(name: str, *, field: str = "timezone") -> ZoneInfo:
    """The zone of an IANA name. The list of names is the gate: outside text opens no file."""
    if name in known_zones():
        return ZoneInfo(name)
    if not name:
        raise InvalidTimezone(f"{field} is empty", hint=_HINT, field=field)
    if len(name) > _NAME_LENGTH_MAX:
        raise InvalidTimezone(
            f"{field} {name[:32]!r}... has {len(name)} characters, no zone has that many",
            hint=_HINT,
            field=field,
        )
    raise InvalidTimezone(
        f"{field} {name!r} is not a known time zone", hint=_nearest(name), field=field
    )


class Segment(NamedTuple):
    """A time without a DST change: the seconds [start, end), all `offset` east of UTC.

    `before` and `after` are the offsets on either side; equal to `offset` where the search stopped
    although the clocks did not change.
    """

    start: int
    end: int
    offset: int
    before: int
    after: int


class Offsets(NamedTuple):
    """What somebody knew of a zone: its offsets in the seconds [begin, end), each with the second
    from which on it holds, the first being `begin`.
    """

    begin: int
    end: int
    changes: tuple[tuple[int, int], ...]

    def at(self, second: int) -> int | None:
        """The offset at this second; None if it lies outside of what is known."""
        if not self.begin <= second < self.end:
            return None
        return self.changes[bisect_right(self.changes, (second, _OFFSET_MAX)) - 1][1]


class Watcher(Protocol):
    """Whoever keeps something that was worked out from a zone."""

    def offsets_changed(self) -> None: ...


class Zone:
    """The offsets of a time zone, found a stretch at a time and kept: there are some 600 zones.

    `known` goes before what the tz database of this machine says, which may not even have the zone.
    """

    __slots__ = ("_info", "_known", "_stretches", "_watchers")

    def __init__(self, name: str, known: Offsets | None = None) -> None:
        foreign = known is not None and name not in known_zones()
        self._info = None if foreign else zone_named(name)
        self._known = known
        self._stretches: dict[int, tuple[list[int], list[Segment]]] = {}
        self._watchers: WeakSet[Watcher] = WeakSet()

    def tell(self, watcher: Watcher) -> None:
        """Let whoever keeps a segment know when it holds no longer."""
        self._watchers.add(watcher)

    def follow(self, known: Offsets | None) -> None:
        """Let other offsets hold from now on, also for those who have this zone in hand."""
        if known != self._known:
            self._known = known
            self._stretches = {}
            for watcher in list(self._watchers):
                watcher.offsets_changed()

    def segment(self, second: int) -> Segment:
        """The segment in which this second lies."""
        number = second // _STRETCH_S
        starts, segments = self._stretches.get(number) or self._search(number)
        return segments[bisect_right(starts, second) - 1]

    def _search(self, number: int) -> tuple[list[int], list[Segment]]:
        begin, end = number * _STRETCH_S, (number + 1) * _STRETCH_S
        starts, offsets = [begin], [self._offset(begin)]
        for probe in range(begin + _PROBE_S, end + 1, _PROBE_S):
            offset = self._offset(probe)
            if offset != offsets[-1]:
                starts.append(_change(self._offset, probe - _PROBE_S, probe))
                offsets.append(offset)
        outer = [self._offset(begin - 1), *offsets, self._offset(end)]
        segments = [
            Segment(start, stop, outer[k + 1], outer[k], outer[k + 2])
            for k, (start, stop) in enumerate(zip(starts, [*starts[1:], end], strict=True))
        ]
        self._stretches[number] = starts, segments
        return starts, segments

    def _offset(self, second: int) -> int:
        known = None if self._known is None else self._known.at(second)
        if known is not None:
            return known
        if self._info is not None:
            return offset_at(self._info, second)
        assert self._known is not None, "where there is no zone here, somebody else has one"
        return self._known.changes[0 if second < self._known.begin else -1][1]


# Like the tz database itself, of the process as a whole: what holds here instead of it.
_ADOPTED: Final[dict[str, Offsets]] = {}


_ZONES: Final[dict[str, Zone]] = {}


def zone_of(name: str) -> Zone:
    """The offsets of the zone of this name, shared by all that ask."""
    zone = _ZONES.get(name)
    if zone is None:
        zone = _ZONES[name] = Zone(name, _ADOPTED.get(name))
    return zone


def prefer(known: Mapping[str, Offsets]) -> None:
    """Let these offsets hold from now on, and the tz database of this machine for all others."""
    _ADOPTED.clear()
    _ADOPTED.update(known)
    for name, zone in _ZONES.items():
        zone.follow(known.get(name))


def preferred() -> dict[str, Offsets]:
    """The offsets that hold here instead of the tz database of this machine."""
    return dict(_ADOPTED)


@lru_cache(maxsize=1024)
def own_offsets(name: str, begin: int, end: int) -> Offsets:
    """What the tz database of this machine says of these seconds, whatever was adopted."""
    zone, changes, second = Zone(name), list[tuple[int, int]](), begin
    while second < end:  # bounded: a segment is never empty
        segment = zone.segment(second)
        if not changes or changes[-1][1] != segment.offset:
            changes.append((second, segment.offset))
        second = segment.end
    return Offsets(begin, end, tuple(changes))


def offset_at(zone: ZoneInfo, second: int) -> int:
    """Seconds east of UTC at this second since the epoch."""
    moment = (_EPOCH + timedelta(seconds=second)).astimezone(zone)
    return _seconds(moment.utcoffset())


def _change(offset: Callable[[int], int], before: int, until: int) -> int:
    """The second the clocks change, given that they do once in (before, until]."""
    old = offset(before)
    while until - before > 1:  # halves: 18 turns for two days
        middle = (before + until) // 2
        if offset(middle) == old:
            before = middle
        else:
            until = middle
    return until


def _seconds(offset: timedelta | None) -> int:
    assert offset is not None, "a zone always knows its offset"
    return offset.days * 86_400 + offset.seconds


@lru_cache(maxsize=1)
def _names() -> tuple[dict[str, str], KnownWords]:
    """The zone of each name that people may mean, and these names."""
    by_folded = {known.casefold(): known for known in sorted(known_zones())}
    # People also give only the city.
    by_folded.update({k.rpartition("/")[2]: v for k, v in by_folded.items() if k.count("/") == 1})
    return by_folded, KnownWords(by_folded)


def _nearest(name: str) -> str:
    by_folded, known = _names()
    close = known.most_like(name.casefold().replace(" ", "_"), 3, cutoff=0.7)
    names = list(dict.fromkeys(by_folded[match] for match in close))
    return f"Did you mean {' or '.join(names)}?" if names else _HINT
