"""From the reading of a clock on the wall to instants, and back. A *wall* time is what the local
clock shows, counted in seconds as if it were UTC.
"""

from __future__ import annotations

from typing import Final, Literal

from onthedot.core.schedules.zones import Zone

DstGap = Literal["after", "before", "skip"]
DstOverlap = Literal["first", "second", "both"]

DAY_S: Final = 86_400
MINUTE_S: Final = 60
# Debian cron takes a jump this long for a correction of the clock, not for daylight saving.
GAP_S_MAX: Final = 3 * 3600


def wall_of(zone: Zone, second: int) -> int:
    """What the clock shows at this second."""
    return second + zone.segment(second).offset


def seconds_of(zone: Zone, wall: int, gap: DstGap, overlap: DstOverlap) -> tuple[int, ...]:
    """When the clock shows `wall`: once as a rule, never or twice where the clocks change."""
    # The clocks never change twice within two days, so these are all the offsets there may be.
    before, after = (zone.segment(wall + shift).offset for shift in (-DAY_S, DAY_S))
    shown = [wall - before] if zone.segment(wall - before).offset == before else []
    if after != before and zone.segment(wall - after).offset == after:
        shown.append(wall - after)
    if not shown:
        made_up = _out_of_gap(zone, wall, before, after, gap)
        return () if made_up is None else (made_up,)
    if overlap == "both":
        return tuple(shown)
    return (shown[0],) if overlap == "first" else (shown[-1],)


def change_near(zone: Zone, second: int) -> int:
    """When the clocks were last changed, up to this second."""
    segment = zone.segment(second)
    while segment.before == segment.offset:  # where a search stopped, without a change
        segment = zone.segment(segment.start - 1)
    return segment.start


def comes_twice(zone: Zone, second: int) -> Literal["first", "second"] | None:
    """Which pass of an overlap a second is in; None outside of one."""
    segment = zone.segment(second)
    if segment.after < segment.offset and second >= segment.end - segment.offset + segment.after:
        return "first"
    if segment.before > segment.offset and second < segment.start + segment.before - segment.offset:
        return "second"
    return None


def _out_of_gap(zone: Zone, wall: int, before: int, after: int, gap: DstGap) -> int | None:
    if gap == "skip" or after - before >= GAP_S_MAX:
        return None
    change = change_near(zone, wall - before)
    return change if gap == "after" else change - MINUTE_S
