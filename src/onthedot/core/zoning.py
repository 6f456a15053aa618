"""What a new release of the tz database does to coming occurrences.

The store keeps, for every zone in use, the offsets by which its clock entries were worked out. A
node that starts with other ones decides here who is right, and what becomes of each entry. A move
is an edit that says the same: a new version, parted from the old one by a cut.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple

from onthedot.core.editing import Change
from onthedot.core.instants import SECOND, Instant
from onthedot.core.model import Definition, Job, timetable
from onthedot.core.schedules import Cron, Repeat
from onthedot.core.schedules.wall import seconds_of
from onthedot.core.schedules.zones import Offsets, known_zones, own_offsets, zone_of

YEARS_BACK: Final = 1
YEARS_AHEAD: Final = 10
"""Of these years the offsets are kept: nobody knows today what a law of later years will say."""

AGAIN_US: Final = 60 * SECOND
"""So long after a change every entry is looked at once more: until then a node that runs on older
offsets may have put some back. It looks every ten seconds whether they have changed."""


_CONSTANT: Final = "UTC"
"""It is no law, and the zone of most jobs."""


class KnownZone(NamedTuple):
    """The offsets of a zone as the store keeps them, and the release that they are from. `told_at`:
    when they last changed, and what is due up to then may have been worked out by others; None if
    they never did. `pending`: entries are still to be looked at.
    """

    name: str
    release: str
    offsets: Offsets
    told_at: Instant | None = None
    pending: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneDecision:
    """What a node does about the zones in use: `record` goes into the store, `follow` holds here
    instead of this machine's own data. `changed` are those among `record` that others had recorded
    differently.
    """

    record: list[KnownZone]
    follow: dict[str, Offsets]
    changed: frozenset[str]


def judge(
    known: Iterable[KnownZone], used: Iterable[str], release: str, *, starting: bool, now: Instant
) -> ZoneDecision:
    """Who is right about each zone. The newer release is; of the same release, who starts: it is
    what people have just changed. Whoever is already running follows, so that two nodes never undo
    each other's changes.
    """
    begin, end = years_around(now)
    rows = {each.name: each for each in known}
    record, follow, changed = list[KnownZone](), dict[str, Offsets](), set[str]()
    for name in sorted({*rows, *used} - {_CONSTANT}):
        row = rows.get(name)
        if row is not None and _own(name, row.offsets) != row.offsets:
            if name not in known_zones() or (row.release, not starting) > (release, False):
                follow[name] = row.offsets
                continue
            changed.add(name)
        elif name not in known_zones() or (row is not None and _is_current(row, release, begin)):
            continue
        record.append(KnownZone(name, release, own_offsets(name, begin, end)))
    return ZoneDecision(record=record, follow=follow, changed=frozenset(changed))


def _own(name: str, there: Offsets) -> Offsets | None:
    """What this machine says of the same years; None if it knows no such zone."""
    return own_offsets(name, there.begin, there.end) if name in known_zones() else None


def _is_current(row: KnownZone, release: str, begin: int) -> bool:
    return row.release > release or (row.release == release and row.offsets.begin >= begin)


def years_around(now: Instant) -> tuple[int, int]:
    """The seconds of which offsets are kept. They begin again with every year."""
    year = datetime.fromtimestamp(now / SECOND, UTC).year
    begin, end = (
        int(datetime(year + shift, 1, 1, tzinfo=UTC).timestamp())
        for shift in (-YEARS_BACK, YEARS_AHEAD)
    )
    return begin, end


class ClockedJob(NamedTuple):
    """A job with its entry in the clock, read under the lock of its shard. Up to `settled` all that
    was due has its fate.
    """

    job: Job
    due: Instant
    settled: Instant


def moved(coming: ClockedJob, zone: str, before: Offsets | None, *, now: Instant) -> Change | None:
    """What becomes of an entry that was worked out by the offsets `before`; None: it stays.

    It keeps the time that it stood for. If that has passed by the new offsets it is due at once, by
    the job's catch-up; what has its fate keeps it; what lies ahead comes when the clock shows it.
    """
    job, due, settled = coming
    definition = _ending(job, zone, before)
    floor = max(settled, job.since)
    stood_for = _shown_again(zone, due, before)
    if stood_for is not None:
        floor = max(floor, min(stood_for - 1, now))
    cut = min(floor, due - 1)
    schedule = timetable(definition)
    assert schedule is not None, job
    entry = schedule.after(cut, anchor=job.anchor)
    if entry == due and definition == job.definition:
        return None
    version = job._replace(
        version=job.version + 1, definition=definition, since=cut, updated_at=now
    )
    return Change(job=version, cut=cut, entry=entry)


def zone_in(definition: Definition) -> str | None:
    """The zone in which a recurring job is due; None where time simply elapses."""
    schedule = definition.schedule
    if definition.calendar is not None:
        return definition.timezone
    return schedule.timezone if isinstance(schedule, Cron | Repeat) else None


def _ending(job: Job, zone: str, before: Offsets | None) -> Definition:
    """The last of `max_runs` moves with the clock, too, so that none is lost and none is added."""
    definition, schedule = job.definition, job.definition.schedule
    if definition.last_at is None or not isinstance(schedule, Cron | Repeat):
        return definition
    if schedule.after(definition.last_at - 1, anchor=job.anchor) == definition.last_at:
        return definition
    last_at = _shown_again(zone, definition.last_at, before)
    return definition if last_at is None else definition._replace(last_at=last_at)


def _shown_again(timezone: str, instant: Instant, before: Offsets | None) -> Instant | None:
    """When the clock shows, by today's offsets, what it showed at this instant by those before."""
    second, below = divmod(instant, SECOND)
    offset = None if before is None else before.at(second)
    if offset is None:
        return None
    found = seconds_of(zone_of(timezone), second + offset, "after", "first")
    return found[0] * SECOND + below if found else None
