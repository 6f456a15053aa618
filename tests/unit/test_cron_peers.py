"""Cron against two other libraries. Where they differ, the difference is listed here, with its why.

Away from DST changes all three agree on what all three can read. Around a change each
difference must be one of the kinds that `why` knows; anything else fails.
"""

from collections.abc import Callable
from datetime import datetime
from itertools import islice
from random import Random
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter
from cronsim import CronSim

from onthedot.core.instants import parse_instant
from onthedot.core.schedules import Cron
from onthedot.errors import NeverFires
from tests.support import cron_chance
from tests.support.cron_chance import PAIR_PARTS, PAIRS, ZONES
from tests.support.cron_scan import offset
from tests.unit.test_cron_judged import near_a_change, ours

COUNT = 20
DAY_S = 86_400


def by_cronsim(expression: str, zone: str, start: int, count: int) -> list[int]:
    local = datetime.fromtimestamp(start, ZoneInfo(zone))
    return [int(moment.timestamp()) for moment in islice(CronSim(expression, local), count)]


def by_croniter(expression: str, zone: str, start: int, count: int) -> list[int]:
    local = datetime.fromtimestamp(start, ZoneInfo(zone))
    return [int(second) for second in islice(croniter(expression, local, ret_type=float), count)]


# fmt: off
DIFFERENCES = [
    # A fixed time is repeated in the second pass of an overlap: Debian cron runs it once.
    (by_croniter, "30 1 * * *", "America/New_York", "2026-11-01T00:00:00Z",
     ["01 Nov 01:30 -0400", "02 Nov 01:30 -0500"], ["01 Nov 01:30 -0400", "01 Nov 01:30 -0500"]),
    # A gap is made up for even where the expression follows the hands of the clock.
    (by_croniter, "*/30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z",
     ["09 Mar 02:00 -0400", "09 Mar 02:30 -0400"], ["08 Mar 03:00 -0400", "09 Mar 02:00 -0400"]),
    (by_croniter, "0 */2 * * *", "America/New_York", "2026-03-08T05:00:00Z",
     ["08 Mar 04:00 -0400", "08 Mar 06:00 -0400"], ["08 Mar 03:00 -0400", "08 Mar 04:00 -0400"]),
    # The same, with a gap that begins at midnight.
    (by_cronsim, "* 0 */3 * *", "Asia/Gaza", "1974-07-06T04:00:00Z",
     ["10 Jul 00:00 +0300"], ["07 Jul 01:00 +0300"]),
    # A day that begins with a gap is passed over, if the day before does not match.
    (by_cronsim, "* 1 * * SUN", "Asia/Hovd", "1988-03-24T00:00:00Z",
     ["27 Mar 01:00 +0800"], ["03 Apr 01:00 +0800"]),
    # A day that never was is taken for daylight saving.
    (by_cronsim, "0 12 * * *", "Pacific/Apia", "2011-12-29T12:00:00Z",
     ["29 Dec 12:00 -1000", "31 Dec 12:00 +1400"], ["29 Dec 12:00 -1000", "31 Dec 00:00 +1400"]),
    (by_croniter, "0 12 * * *", "Pacific/Apia", "2011-12-29T12:00:00Z",
     ["29 Dec 12:00 -1000", "31 Dec 12:00 +1400"], ["29 Dec 12:00 -1000", "31 Dec 00:00 +1400"]),
    # Asked in the second pass of an overlap, it answers with the first one, which is over.
    (by_cronsim, "30 1 * * *", "America/New_York", "2026-11-01T06:10:00Z",
     ["02 Nov 01:30 -0500"], ["01 Nov 01:30 -0400"]),
    # A day field that begins with a star counts as restricted: either day field is enough.
    (by_croniter, "0 0 */2 * 1", "UTC", "2026-01-01T12:00:00Z",
     ["05 Jan 00:00 +0000", "19 Jan 00:00 +0000"], ["03 Jan 00:00 +0000", "05 Jan 00:00 +0000"]),
    # After the clocks went back by half an hour, or at half past, minutes are passed over.
    (by_cronsim, "*/28 2 * * *", "Asia/Macau", "1973-10-20T17:30:00Z",
     ["21 Oct 02:56 +0900", "21 Oct 02:56 +0800"], ["21 Oct 02:56 +0900", "22 Oct 02:00 +0800"]),
    (by_croniter, "*/28 2 * * *", "Asia/Macau", "1973-10-20T17:30:00Z",
     ["21 Oct 02:56 +0900", "21 Oct 02:56 +0800"], ["21 Oct 02:56 +0900", "22 Oct 02:00 +0800"]),
    (by_cronsim, "11 */2 * * *", "Australia/Lord_Howe", "1992-02-29T13:00:00Z",
     ["01 Mar 00:11 +1100", "01 Mar 02:11 +1030"], ["01 Mar 00:11 +1100", "01 Mar 04:11 +1030"]),
    # A range of one value, with a step: taken for 5-59/10, and for */10.
    (by_cronsim, "5-5/10 * * * *", "UTC", "2026-01-01T00:00:00Z",
     ["01 Jan 00:05 +0000", "01 Jan 01:05 +0000"], ["01 Jan 00:05 +0000", "01 Jan 00:15 +0000"]),
    (by_croniter, "5-5/10 * * * *", "UTC", "2026-01-01T00:00:00Z",
     ["01 Jan 00:05 +0000", "01 Jan 01:05 +0000"], ["01 Jan 00:10 +0000", "01 Jan 00:20 +0000"]),
]
# fmt: on


@pytest.mark.parametrize(("judge", "expression", "zone", "start", "here", "there"), DIFFERENCES)
def test_a_listed_difference_is_still_one(judge, expression, zone, start, here, there):
    second = parse_instant(start, field="start") // 1_000_000

    def shown(seconds: list[int]) -> list[str]:
        local = [datetime.fromtimestamp(each, ZoneInfo(zone)) for each in seconds]
        return [f"{moment:%d %b %H:%M %z}" for moment in local]

    assert shown(ours(Cron.parse(expression, zone), second, len(here))) == here
    assert shown(judge(expression, zone, second, len(there))) == there


def common(chance: Random) -> str:
    """What all three read alike: not two day fields of which one has a star."""
    while True:
        text = cron_chance.expression(chance, plain=True)
        day, weekday = text.split(" ")[2::2]
        if "*" not in day + weekday or "*" in (day, weekday):
            return text


def why_more(zone: str, start: int, second: int) -> str:
    """Why another library is due when we are not; empty when there is no reason for it."""
    info = ZoneInfo(zone)
    now = offset(info, second)
    if second <= start:
        return "answers with the past"
    if now > offset(info, second - 1):
        return "makes up for a gap"
    if any(offset(info, second - shift) == now + shift for shift in range(900, 10_801, 900)):
        return "repeats in the second pass"
    return ""


def why_less(zone: str, second: int) -> str:
    """Why we are due when another library is not."""
    info = ZoneInfo(zone)
    now = offset(info, second)
    if offset(info, second - 2 * 3600) > now:
        return "loses minutes after the clocks went back"
    midnight = second - (second + now) % DAY_S
    return "loses a day that begins with a gap" if offset(info, midnight) < now else ""


@pytest.mark.parametrize("judge", [by_cronsim, by_croniter])
@pytest.mark.parametrize("part", range(PAIR_PARTS))
def test_others_differ_only_where_we_know_why(
    judge: Callable[[str, str, int, int], list[int]],
    part: int,
    record_property: Callable[[str, object], None],
):
    chance = Random(100 + part)
    judged = 0

    for number in range(part, PAIRS, PAIR_PARTS):
        zone, text = ZONES[number % len(ZONES)], common(chance)
        start = cron_chance.instant(chance)
        if chance.random() < 0.7:
            start = near_a_change(chance, zone, start)
        try:
            found = ours(Cron.parse(text, zone), start, COUNT)
        except NeverFires:
            continue
        if len(found) < COUNT or found[-1] > start + 3 * 366 * DAY_S:
            continue  # too rare for the others to be quick
        theirs = judge(text, zone, start, COUNT)
        end = min(found[-1], theirs[-1])
        less = [s for s in found if s <= end and s not in theirs and not why_less(zone, s)]
        more = [s for s in theirs if s <= end and s not in found and not why_more(zone, start, s)]

        assert (less, more) == ([], []), (text, zone, start)
        judged += 1
    record_property(f"expressions in zones held against {judge.__name__[3:]}", judged)
