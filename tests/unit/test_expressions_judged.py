"""Steps of the calendar against a judge that shares nothing with them: datetime and zoneinfo.

CI asks for 300 repetitions in zones of the whole tz database; `python3 dev.py cron` for more.
"""

from datetime import UTC, datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo

import pytest

from onthedot.core.instants import INSTANT_MAX, SECOND
from onthedot.core.schedules import DstGap, DstOverlap, Repeat, Step, coming
from onthedot.core.schedules.zones import zone_of
from tests.support import cron_chance
from tests.support.cron_chance import PAIRS

CASES = PAIRS // 4
PARTS = 4
GAPS: tuple[DstGap, ...] = ("after", "before", "skip")
OVERLAPS: tuple[DstOverlap, ...] = ("first", "second", "both")
STEPS = [(1, 0), (12, 0), (0, 1), (0, 7), (0, 3), (5, 0), (1, 1), (0, 182)]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def judged(repeat: Repeat, number: int) -> list[int]:
    """When the `number`th occurrence is due, in seconds."""
    zone = ZoneInfo(repeat.timezone)
    start = EPOCH + timedelta(microseconds=repeat.start)
    wall = start.astimezone(zone).replace(tzinfo=None, fold=0)
    months = wall.year * 12 + wall.month - 1 + number * repeat.step.months
    day = wall.day
    while True:
        try:
            wall = wall.replace(year=months // 12, month=months % 12 + 1, day=day)
            break
        except ValueError:
            day -= 1
    wall += timedelta(days=number * repeat.step.days)
    passes = sorted({wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)})
    shown = [each for each in passes if each.astimezone(zone).replace(tzinfo=None, fold=0) == wall]
    if shown:
        wanted = {"first": shown[:1], "second": shown[-1:], "both": shown}
        return [round((each - EPOCH).total_seconds()) for each in wanted[repeat.dst_overlap or ""]]
    return out_of_gap(repeat, passes)


def out_of_gap(repeat: Repeat, passes: list[datetime]) -> list[int]:
    zone = ZoneInfo(repeat.timezone)
    low, high = passes
    if repeat.dst_gap == "skip" or high - low >= timedelta(hours=3):
        return []
    # The first second of the new offset, looked for one by one from a minute's grid.
    new = high.astimezone(zone).utcoffset()
    change = low.replace(microsecond=0)
    while change.astimezone(zone).utcoffset() != new:
        change += timedelta(seconds=1)
    return [round((change - EPOCH).total_seconds()) - (60 if repeat.dst_gap == "before" else 0)]


def a_repeat(chance: Random) -> Repeat:
    """Half of them meet a DST change, if their zone has one."""
    zone, second = chance.choice(cron_chance.ZONES), cron_chance.instant(chance)
    months, days = chance.choice(STEPS)
    if chance.random() < 0.5:
        change = zone_of(zone).segment(second).end
        months, days, second = 0, 1, change - chance.randint(1, 7) * 86_400
        second += chance.randint(-2, 2) * 3600 + chance.choice([0, 0, 1800, -1, 900])
    return Repeat(
        second * SECOND,
        Step(months, days),
        zone,
        chance.choice(GAPS),
        chance.choice(OVERLAPS),
        after_start=True,
    )


@pytest.mark.parametrize("part", range(PARTS))
def test_steps_of_the_calendar_agree_with_the_judge(part, record_property):
    chance = Random(part)
    record_property("steps of the calendar held against datetime", CASES // PARTS)
    for _ in range(CASES // PARTS):
        repeat = a_repeat(chance)
        wanted = [due * SECOND for k in range(1, 9) for due in judged(repeat, k)]
        wanted = [due for due in wanted if due <= INSTANT_MAX]

        found = [each.at for each in coming(repeat, repeat.start, len(wanted), anchor=0)]

        assert found == wanted, repeat
