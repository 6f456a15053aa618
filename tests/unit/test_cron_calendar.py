"""The table of hard days: what is due when the clocks change and where the calendar is uneven.

Each row: the expression, its rule for gaps and overlaps where one is given, the zone, from when,
and the next local times with their offset from UTC. The sentence above a row is the rule it shows.
"""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from onthedot.core.instants import SECOND, parse_instant
from onthedot.core.schedules import Cron, DstGap, DstOverlap

NEW_YORK, LONDON, BERLIN = "America/New_York", "Europe/London", "Europe/Berlin"
LORD_HOWE, TROLL, APIA = "Australia/Lord_Howe", "Antarctica/Troll", "Pacific/Apia"
CASABLANCA, BEIRUT, CAIRO = "Africa/Casablanca", "Asia/Beirut", "Africa/Cairo"


def shown(cron: Cron, start: str, count: int) -> list[str]:
    found: list[str] = []
    instant: int | None = parse_instant(start, field="start") - 1
    while len(found) < count and instant is not None:
        instant = cron.after(instant)
        if instant is not None:
            local = datetime.fromtimestamp(instant // SECOND, ZoneInfo(cron.timezone))
            found.append(f"{local:%a %d %b %Y %H:%M %z}")
    return found


# fmt: off
UNSAID = [
    # New York, the gap of 8 March 2026, 02:00 to 03:00.
    # A fixed time in the gap is due right after it, and the next day at its time again.
    ("30 2 * * *", NEW_YORK, "2026-03-08T00:00:00Z",
     ["Sun 08 Mar 2026 03:00 -0400", "Mon 09 Mar 2026 02:30 -0400"]),
    # Several fixed times in one gap make one run.
    ("0,20,40 2 * * *", NEW_YORK, "2026-03-08T00:00:00Z",
     ["Sun 08 Mar 2026 03:00 -0400", "Mon 09 Mar 2026 02:00 -0400"]),
    # A fixed time that is due at the end of the gap anyway is not due twice.
    ("30 2,3 * * *", NEW_YORK, "2026-03-08T00:00:00Z",
     ["Sun 08 Mar 2026 03:00 -0400", "Sun 08 Mar 2026 03:30 -0400"]),
    # An expression with a star follows the elapsed time: every half hour stays every half hour.
    ("*/30 * * * *", NEW_YORK, "2026-03-08T06:30:00Z",
     ["Sun 08 Mar 2026 01:30 -0500", "Sun 08 Mar 2026 03:00 -0400"]),
    # A star in the minute with a fixed hour: that hour does not come on this day.
    ("*/30 2 * * *", NEW_YORK, "2026-03-08T00:00:00Z",
     ["Mon 09 Mar 2026 02:00 -0400", "Mon 09 Mar 2026 02:30 -0400"]),
    # New York, the overlap of 1 November 2026, 01:00 to 02:00.
    # A fixed time is due once, in the first pass.
    ("30 1 * * *", NEW_YORK, "2026-11-01T00:00:00Z",
     ["Sun 01 Nov 2026 01:30 -0400", "Mon 02 Nov 2026 01:30 -0500"]),
    # The overlap ends with the minute before two.
    ("59 1 * * *", NEW_YORK, "2026-11-01T00:00:00Z",
     ["Sun 01 Nov 2026 01:59 -0400", "Mon 02 Nov 2026 01:59 -0500"]),
    # A star is due in both passes.
    ("0 * * * *", NEW_YORK, "2026-11-01T05:00:00Z",
     ["Sun 01 Nov 2026 01:00 -0400", "Sun 01 Nov 2026 01:00 -0500", "Sun 01 Nov 2026 02:00 -0500"]),
    # London changes at 01:00 UTC, from 01:00 to 02:00.
    ("15 1 * * *", LONDON, "2026-03-28T12:00:00Z",
     ["Sun 29 Mar 2026 02:00 +0100", "Mon 30 Mar 2026 01:15 +0100"]),
    ("15 1 * * *", LONDON, "2026-10-24T12:00:00Z",
     ["Sun 25 Oct 2026 01:15 +0100", "Mon 26 Oct 2026 01:15 +0000"]),
    # Both passes come, even if the next day that matches is a year away.
    ("*/30 1 25 10 *", LONDON, "2026-10-25T00:30:00Z",
     ["Sun 25 Oct 2026 01:30 +0100", "Sun 25 Oct 2026 01:00 +0000", "Sun 25 Oct 2026 01:30 +0000",
      "Mon 25 Oct 2027 01:00 +0100"]),
    # Berlin: a monthly job on the day before, on the day and after it never loses its month.
    ("30 2 29 * *", BERLIN, "2026-03-01T00:00:00Z",
     ["Sun 29 Mar 2026 03:00 +0200", "Wed 29 Apr 2026 02:30 +0200"]),
    # With seconds it is the same: six fields do not switch the rule off.
    ("0 30 2 * * *", BERLIN, "2026-03-28T12:00:00Z",
     ["Sun 29 Mar 2026 03:00 +0200", "Mon 30 Mar 2026 02:30 +0200"]),
    # Lord Howe moves by half an hour: 02:00 to 02:30, and back from 02:00 to 01:30.
    ("15 2 * * *", LORD_HOWE, "2026-10-03T00:00:00Z",
     ["Sun 04 Oct 2026 02:30 +1100", "Mon 05 Oct 2026 02:15 +1100"]),
    ("45 1 * * *", LORD_HOWE, "2026-04-04T00:00:00Z",
     ["Sun 05 Apr 2026 01:45 +1100", "Mon 06 Apr 2026 01:45 +1030"]),
    ("*/20 * * * *", LORD_HOWE, "2026-04-04T14:30:00Z",
     ["Sun 05 Apr 2026 01:40 +1100", "Sun 05 Apr 2026 01:40 +1030", "Sun 05 Apr 2026 02:00 +1030"]),
    # Troll moves by two hours: 01:00 to 03:00, and back from 03:00 to 01:00.
    ("0 1,2 * * *", TROLL, "2026-03-28T12:00:00Z",
     ["Sun 29 Mar 2026 03:00 +0200", "Mon 30 Mar 2026 01:00 +0200"]),
    ("30 1 * * *", TROLL, "2026-10-24T12:00:00Z",
     ["Sun 25 Oct 2026 01:30 +0200", "Mon 26 Oct 2026 01:30 +0000"]),
    # Casablanca goes back for Ramadan and forth after it: 15 February and 22 March 2026.
    ("30 2 * * *", CASABLANCA, "2026-02-14T12:00:00Z",
     ["Sun 15 Feb 2026 02:30 +0100", "Mon 16 Feb 2026 02:30 +0000"]),
    ("30 2 * * *", CASABLANCA, "2026-03-21T12:00:00Z",
     ["Sun 22 Mar 2026 03:00 +0100", "Mon 23 Mar 2026 02:30 +0100"]),
    # Beirut: the gap begins at midnight. The day has no 00:00, and yet its daily job.
    ("0 0 * * *", BEIRUT, "2026-03-28T12:00:00Z",
     ["Sun 29 Mar 2026 01:00 +0300", "Mon 30 Mar 2026 00:00 +0300"]),
    # Beirut: the overlap ends at midnight. 23:30 comes twice and is due the first time.
    ("30 23 * * *", BEIRUT, "2026-10-24T12:00:00Z",
     ["Sat 24 Oct 2026 23:30 +0300", "Sun 25 Oct 2026 23:30 +0200"]),
    # Cairo: the gap at midnight of a Friday. The weekly job stays on its Friday.
    ("30 0 * * FRI", CAIRO, "2026-04-23T12:00:00Z",
     ["Fri 24 Apr 2026 01:00 +0300", "Fri 01 May 2026 00:30 +0300"]),
    # Apia had no 30 December 2011. That is no daylight saving: nothing is made up for.
    ("0 12 * * *", APIA, "2011-12-29T12:00:00Z",
     ["Thu 29 Dec 2011 12:00 -1000", "Sat 31 Dec 2011 12:00 +1400"]),
    ("0 12 30 12 *", APIA, "2011-01-01T00:00:00Z", ["Sun 30 Dec 2012 12:00 +1400"]),
    # Casey once moved by three hours, 02:00 to 05:00: as long as that is no daylight saving either.
    ("30 3 * * *", "Antarctica/Casey", "2009-10-17T00:00:00Z",
     ["Mon 19 Oct 2009 03:30 +1100", "Tue 20 Oct 2009 03:30 +1100"]),
    # 29 February: every fourth year, but not in 2100.
    ("0 6 29 2 *", "UTC", "2092-03-01T00:00:00Z",
     ["Wed 29 Feb 2096 06:00 +0000", "Fri 29 Feb 2104 06:00 +0000"]),
    # The last day of the month is the 29th of a leap year.
    ("0 6 L 2 *", "UTC", "2027-01-01T00:00:00Z",
     ["Sun 28 Feb 2027 06:00 +0000", "Tue 29 Feb 2028 06:00 +0000"]),
    # 2100: clocks are taken to change as they do today.
    ("30 2 * * SUN", BERLIN, "2100-03-27T12:00:00Z",
     ["Sun 28 Mar 2100 03:00 +0200", "Sun 04 Apr 2100 02:30 +0200"]),
    # The end of 2100, across midnight.
    ("0 */12 * * *", NEW_YORK, "2101-01-01T00:00:00Z",
     ["Sat 01 Jan 2101 00:00 -0500", "Sat 01 Jan 2101 12:00 -0500"]),
]

SAID: list[tuple[str, DstGap | None, DstOverlap | None, str, str, list[str]]] = [
    # before: in the last minute before the gap.
    ("30 2 * * *", "before", None, NEW_YORK, "2026-03-08T00:00:00Z",
     ["Sun 08 Mar 2026 01:59 -0500", "Mon 09 Mar 2026 02:30 -0400"]),
    # before, and due at that minute anyway: once.
    ("59 1,2 * * *", "before", None, NEW_YORK, "2026-03-08T00:00:00Z",
     ["Sun 08 Mar 2026 01:59 -0500", "Mon 09 Mar 2026 01:59 -0400"]),
    # before, but the time is there: the gap ends with it.
    ("0 3 * * *", "before", None, NEW_YORK, "2026-03-08T00:00:00Z",
     ["Sun 08 Mar 2026 03:00 -0400", "Mon 09 Mar 2026 03:00 -0400"]),
    # before a gap at midnight is the day before.
    ("0 0 * * *", "before", None, BEIRUT, "2026-03-28T12:00:00Z",
     ["Sat 28 Mar 2026 23:59 +0200", "Mon 30 Mar 2026 00:00 +0300"]),
    # skip: no run on that day.
    ("30 2 * * *", "skip", None, NEW_YORK, "2026-03-08T00:00:00Z",
     ["Mon 09 Mar 2026 02:30 -0400"]),
    # after, for an expression with a star: the hour that does not come makes one run.
    ("*/30 2 * * *", "after", None, NEW_YORK, "2026-03-08T00:00:00Z",
     ["Sun 08 Mar 2026 03:00 -0400", "Mon 09 Mar 2026 02:00 -0400"]),
    # No rule makes up for a day that never was.
    ("0 12 * * *", "after", None, APIA, "2011-12-30T00:00:00Z", ["Sat 31 Dec 2011 12:00 +1400"]),
    # second: in the second pass.
    ("30 1 * * *", None, "second", NEW_YORK, "2026-11-01T00:00:00Z",
     ["Sun 01 Nov 2026 01:30 -0500", "Mon 02 Nov 2026 01:30 -0500"]),
    # both: twice on that day.
    ("30 1 * * *", None, "both", LONDON, "2026-10-25T00:00:00Z",
     ["Sun 25 Oct 2026 01:30 +0100", "Sun 25 Oct 2026 01:30 +0000", "Mon 26 Oct 2026 01:30 +0000"]),
    # first, for an expression with a star: the second pass is silent.
    ("*/30 * * * *", None, "first", LONDON, "2026-10-25T00:30:00Z",
     ["Sun 25 Oct 2026 01:30 +0100", "Sun 25 Oct 2026 02:00 +0000"]),
    # second, for an expression with a star: the first pass is silent.
    ("*/30 * * * *", None, "second", LONDON, "2026-10-24T23:30:00Z",
     ["Sun 25 Oct 2026 00:30 +0100", "Sun 25 Oct 2026 01:00 +0000"]),
    # second, over half an hour.
    ("45 1 * * *", None, "second", LORD_HOWE, "2026-04-04T00:00:00Z",
     ["Sun 05 Apr 2026 01:45 +1030", "Mon 06 Apr 2026 01:45 +1030"]),
]
# fmt: on


@pytest.mark.parametrize(("expression", "zone", "start", "times"), UNSAID)
def test_a_hard_day_follows_debians_rule_when_none_is_given(expression, zone, start, times):
    assert shown(Cron.parse(expression, zone), start, len(times)) == times


@pytest.mark.parametrize(("expression", "gap", "overlap", "zone", "start", "times"), SAID)
def test_a_hard_day_follows_the_rule_of_its_schedule(
    expression: str, gap: DstGap, overlap: DstOverlap, zone: str, start: str, times: list[str]
):
    cron = Cron.parse(expression, zone, dst_gap=gap, dst_overlap=overlap)

    assert shown(cron, start, len(times)) == times


def test_a_time_made_up_for_is_found_from_just_before_it():
    cron = Cron.parse("30 2 * * *", NEW_YORK)
    gap_ends = parse_instant("2026-03-08T07:00:00Z", field="at")

    assert [cron.after(gap_ends - before) for before in (1, SECOND // 2, SECOND)] == [gap_ends] * 3
    assert cron.count(gap_ends, gap_ends, limit=5) == 1
