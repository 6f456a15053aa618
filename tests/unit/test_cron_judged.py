"""Cron against a scan of every minute, over all time zones, with every rule for clock changes.

CI compares two schedules in each zone. `python3 dev.py cron` compares many more.
"""

from random import Random
from zoneinfo import ZoneInfo

import pytest

from onthedot.core.instants import SECOND
from onthedot.core.schedules import Cron, DstGap, DstOverlap
from onthedot.errors import NeverFires
from tests.support import cron_chance
from tests.support.cron_chance import PAIR_PARTS, PAIRS, ZONES
from tests.support.cron_scan import offset, scan

COUNT = 20
GAPS: list[DstGap | None] = [None, None, "after", "before", "skip"]
OVERLAPS: list[DstOverlap | None] = [None, None, "first", "second", "both"]


def ours(cron: Cron, start: int, count: int) -> list[int]:
    found: list[int] = []
    at = start * SECOND
    while len(found) < count and (due := cron.after(at)) is not None:
        found.append(due // SECOND)
        at = due
    return found


def near_a_change(chance: Random, zone: str, start: int) -> int:
    """A start within three days before the next DST change, if one is near."""
    info = ZoneInfo(zone)
    before = offset(info, start)
    for second in range(start, start + 300 * 86_400, 86_400):
        if offset(info, second) != before:
            return second - chance.randint(0, 3 * 86_400)
    return start


@pytest.mark.parametrize("part", range(PAIR_PARTS))
def test_the_first_twenty_instants_are_those_of_a_scan_of_every_minute(part, record_property):
    chance = Random(part)
    numbers = range(part, PAIRS, PAIR_PARTS)
    record_property("expressions in zones held against a scan of every minute", len(numbers))

    for number in numbers:
        zone = ZONES[number % len(ZONES)]
        text = cron_chance.expression(chance)
        gap, overlap = chance.choice(GAPS), chance.choice(OVERLAPS)
        start = cron_chance.instant(chance)
        if chance.random() < 0.7:
            start = near_a_change(chance, zone, start)
        try:
            cron = Cron.parse(text, zone, dst_gap=gap, dst_overlap=overlap)
        except NeverFires:
            assert scan(text, zone, start, 1) == []
            continue
        found = ours(cron, start, COUNT)

        # A scan of rare days is slow: their first two instants must do.
        soon = sum(due < start + 6 * 366 * 86_400 for due in found)
        count = max(soon, min(len(found), 2))
        expected = scan(text, zone, start, count, gap=gap or "", overlap=overlap or "")
        assert found[:count] == expected, (text, zone, start, gap, overlap)
        # Wherever one starts, the next is the next.
        for due in found:
            assert cron.after(due * SECOND - 1) == due * SECOND, (text, zone, due, gap, overlap)


def test_a_schedule_that_never_fires_has_no_day_in_a_scan_either():
    for text in ("0 0 30 2 *", "0 0 31 4,6 ?", "0 0 31W 2 *"):
        with pytest.raises(NeverFires):
            Cron.parse(text)
        assert scan(text, "UTC", 0, 1) == []
