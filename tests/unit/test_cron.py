"""Cron: when a job is due, whatever the clocks do. (What is read and refused: test_cron_text.)"""

import calendar
import time
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hypothesis import given, settings
from hypothesis import strategies as st

from onthedot.core.instants import DAY, HOUR, INSTANT_MAX, MINUTE, SECOND, parse_instant
from onthedot.core.schedules import Cron, explain
from onthedot.errors import Invalid, InvalidCron, NeverFires

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def at(text: str) -> int:
    return parse_instant(text, field="at")


def moment(instant: int, zone: str = "UTC") -> datetime:
    return (EPOCH + timedelta(microseconds=instant)).astimezone(ZoneInfo(zone))


def due(cron: Cron, after: int, count: int) -> list[int]:
    occurrences: list[int] = []
    while len(occurrences) < count and (instant := cron.after(after)) is not None:
        occurrences.append(instant)
        after = instant
    return occurrences


def shown(expression: str, zone: str, start: str, count: int) -> list[str]:
    """The next local times as a person would read them, with the offset in hours."""
    cron = Cron.parse(expression, zone)
    local = [moment(instant, zone) for instant in due(cron, at(start) - 1, count)]
    return [f"{when:%d %b %H:%M} {when:%z}" for when in local]


# --- when clocks change -------------------------------------------------------------------------

NEW_YORK, LONDON, LORD_HOWE = "America/New_York", "Europe/London", "Australia/Lord_Howe"
BEIRUT, CAIRO, BERLIN, APIA = "Asia/Beirut", "Africa/Cairo", "Europe/Berlin", "Pacific/Apia"

# fmt: off
CLOCK_CHANGES = [
    # Gap, fixed time: right after the gap, once.
    ("30 2 * * *", NEW_YORK, "2026-03-07T12:00:00Z",
     ["08 Mar 03:00 -0400", "09 Mar 02:30 -0400"]),
    ("0,15,30 2 * * *", NEW_YORK, "2026-03-07T12:00:00Z",
     ["08 Mar 03:00 -0400", "09 Mar 02:00 -0400"]),
    ("0 2,3 * * *", NEW_YORK, "2026-03-07T12:00:00Z",
     ["08 Mar 03:00 -0400", "09 Mar 02:00 -0400"]),
    ("30 1 * * *", LONDON, "2026-03-28T12:00:00Z",
     ["29 Mar 02:00 +0100", "30 Mar 01:30 +0100"]),
    ("15 2 * * *", LORD_HOWE, "2026-10-02T20:00:00Z",
     ["04 Oct 02:30 +1100", "05 Oct 02:15 +1100"]),
    ("0 0 * * *", BEIRUT, "2026-03-28T12:00:00Z",
     ["29 Mar 01:00 +0300", "30 Mar 00:00 +0300"]),
    ("30 0 * * FRI", CAIRO, "2026-04-23T12:00:00Z",
     ["24 Apr 01:00 +0300", "01 May 00:30 +0300"]),
    ("0 0 1 * *", BERLIN, "2026-03-01T12:00:00Z",
     ["01 Apr 00:00 +0200", "01 May 00:00 +0200"]),
    # Overlap, fixed time: in the first pass, once.
    ("30 1 * * *", NEW_YORK, "2026-11-01T00:00:00Z",
     ["01 Nov 01:30 -0400", "02 Nov 01:30 -0500"]),
    ("30 1 * * *", LONDON, "2026-10-24T12:00:00Z",
     ["25 Oct 01:30 +0100", "26 Oct 01:30 +0000"]),
    ("45 1 * * *", LORD_HOWE, "2026-04-03T20:00:00Z",
     ["05 Apr 01:45 +1100", "06 Apr 01:45 +1030"]),
    ("30 23 * * *", BEIRUT, "2026-10-24T12:00:00Z",
     ["24 Oct 23:30 +0300", "25 Oct 23:30 +0200"]),
    ("30 23 * * *", CAIRO, "2026-10-29T12:00:00Z",
     ["29 Oct 23:30 +0300", "30 Oct 23:30 +0200"]),
    # Wildcards follow the hands of the clock: nothing in a gap, both passes of an overlap.
    ("0 * * * *", NEW_YORK, "2026-03-08T06:00:00Z",
     ["08 Mar 01:00 -0500", "08 Mar 03:00 -0400", "08 Mar 04:00 -0400"]),
    ("*/30 2 * * *", NEW_YORK, "2026-03-07T12:00:00Z",
     ["09 Mar 02:00 -0400", "09 Mar 02:30 -0400"]),
    ("0 * * * *", NEW_YORK, "2026-11-01T05:00:00Z",
     ["01 Nov 01:00 -0400", "01 Nov 01:00 -0500", "01 Nov 02:00 -0500"]),
    ("*/30 1 * * *", LONDON, "2026-10-24T12:00:00Z",
     ["25 Oct 01:00 +0100", "25 Oct 01:30 +0100", "25 Oct 01:00 +0000", "25 Oct 01:30 +0000",
      "26 Oct 01:00 +0000"]),
    ("*/15 * * * *", LORD_HOWE, "2026-10-03T15:15:00Z",
     ["04 Oct 01:45 +1030", "04 Oct 02:30 +1100", "04 Oct 02:45 +1100"]),
    ("*/15 * * * *", LORD_HOWE, "2026-04-04T14:45:00Z",
     ["05 Apr 01:45 +1100", "05 Apr 01:30 +1030", "05 Apr 01:45 +1030", "05 Apr 02:00 +1030"]),
    ("*/30 * * * *", BEIRUT, "2026-10-24T20:30:00Z",
     ["24 Oct 23:30 +0300", "24 Oct 23:00 +0200", "24 Oct 23:30 +0200", "25 Oct 00:00 +0200"]),
    # A day that never was: 30 December 2011 is no daylight saving, nothing is made up for.
    ("0 12 * * *", APIA, "2011-12-29T12:00:00Z",
     ["29 Dec 12:00 -1000", "31 Dec 12:00 +1400"]),
    ("0 */12 * * *", APIA, "2011-12-29T12:00:00Z",
     ["29 Dec 12:00 -1000", "31 Dec 00:00 +1400"]),
]
# fmt: on


@pytest.mark.parametrize(("expression", "zone", "start", "times"), CLOCK_CHANGES)
def test_a_change_of_the_clocks_follows_debians_rule(expression, zone, start, times):
    assert shown(expression, zone, start, len(times)) == times


def test_in_the_second_pass_a_fixed_time_is_not_due_in_the_past():
    cron = Cron.parse("30 1 * * *", NEW_YORK)
    second_pass = at("2026-11-01T06:10:00Z")  # 01:10 EST; cronsim alone says 01:30 EDT, before it

    assert cron.after(second_pass) == at("2026-11-02T06:30:00Z")


def test_an_expression_that_is_true_in_gaps_only_ends_in_bounded_time():
    # The second Sunday of March between 2 and 3: since 2007 that hour never comes in New York.
    cron = Cron.parse("*/5 2 8-14 3 */7", NEW_YORK)
    started = time.process_time()

    assert cron.after(at("2026-01-01T00:00:00Z")) is None
    assert time.process_time() - started < 1


# --- always -------------------------------------------------------------------------------------

ZONES = ["UTC", NEW_YORK, LONDON, LORD_HOWE, BEIRUT, CAIRO, APIA, "Africa/Monrovia", "Asia/Kolkata"]
TROUBLE = [  # the hours around changes of the zones above
    *("2026-03-08", "2026-11-01", "2026-03-29", "2026-10-25", "2026-04-05", "2026-10-04"),
    *("2026-04-24", "2026-10-30", "2011-12-30", "1972-01-07", "2026-06-15"),
]


def field(low: int, high: int) -> st.SearchStrategy[str]:
    value = st.integers(low, high)
    bounds = st.tuples(value, value).map(sorted)
    item = st.one_of(
        st.just("*"),
        st.integers(1, high).map("*/{}".format),
        value.map(str),
        bounds.map(lambda b: f"{b[0]}-{b[1]}"),
        st.tuples(bounds, st.integers(1, high)).map(lambda t: f"{t[0][0]}-{t[0][1]}/{t[1]}"),
    )
    return st.lists(item, min_size=1, max_size=3).map(",".join)


def expressions(*, any_day: bool = False) -> st.SearchStrategy[str]:
    star = st.just("*")
    days = star if any_day else field(1, 31) | st.sampled_from(["L", "LW", "1,L"])
    months = star if any_day else field(1, 12)
    weekdays = star if any_day else field(0, 7) | st.sampled_from(["5L", "MON#2", "0#1", "7L,3"])
    return st.tuples(field(0, 59), field(0, 23), days, months, weekdays).map(" ".join)


def parsed(expression: str, zone: str = "UTC") -> Cron | None:
    try:
        return Cron.parse(expression, zone)
    except NeverFires:
        return None


@settings(deadline=None)
@given(
    expression=expressions(),
    zone=st.sampled_from(ZONES),
    start=st.integers(0, INSTANT_MAX),
)
def test_occurrences_strictly_increase_and_do_not_depend_on_where_one_starts(
    expression, zone, start
):
    cron = parsed(expression, zone)
    if cron is None:
        return
    occurrences = due(cron, start, 5)

    for before, instant in pairwise([start, *occurrences]):
        assert instant > before
        assert instant % SECOND == 0
        assert cron.after((before + instant) // 2) == instant
        assert cron.after(instant - 1) == instant


@settings(deadline=None)
@given(expression=expressions(), start=st.integers(0, at("2150-01-01T00:00:00Z")))
def test_in_utc_occurrences_are_those_of_cronsim(expression, start):
    cron = parsed(expression)
    if cron is None:
        return
    plain = " ".join(map(without_trivial_steps, expression.split()))

    expected = [int((t - EPOCH).total_seconds()) for t in islice(CronSim(plain, moment(start)), 5)]

    assert [instant // SECOND for instant in due(cron, start, 5)] == expected


def without_trivial_steps(part: str) -> str:
    """`a-a/n` as `a`: the one form that cronsim reads wrongly."""
    items = []
    for item in part.split(","):
        bounds, _, step = item.partition("/")
        low, _, high = bounds.partition("-")
        items.append(low if step and low == high else item)
    return ",".join(items)


def minutes_shown(zone: str, start: int, end: int) -> list[tuple[int, datetime]]:
    tz = ZoneInfo(zone)
    seconds = range(start // SECOND // 30 * 30, end // SECOND + 1, 30)  # Monrovia was 30 s off
    moments = [(second, datetime.fromtimestamp(second, tz)) for second in seconds]
    return [(second, local) for second, local in moments if local.second == 0]


@settings(deadline=None, max_examples=150)
@given(
    expression=expressions(any_day=True).filter(
        lambda e: e[0] == "*" or " *" in e[: e.index(" ") + 2]
    ),
    zone=st.sampled_from(ZONES),
    day=st.sampled_from(TROUBLE),
    hours=st.integers(-14, 26),
)
def test_a_wildcard_is_due_at_exactly_the_minutes_the_clock_shows(expression, zone, day, hours):
    cron = Cron.parse(expression, zone)
    start = at(f"{day}T00:00:00Z") + hours * HOUR
    end = start + 12 * HOUR
    minutes, times = (
        values(part, top) for part, top in zip(expression.split()[:2], (59, 23), strict=True)
    )

    expected = [
        second
        for second, local in minutes_shown(zone, start, end)
        if local.minute in minutes and local.hour in times and start < second * SECOND <= end
    ]

    assert [i // SECOND for i in due(cron, start, len(expected) + 1) if i <= end] == expected


@settings(deadline=None, max_examples=150)
@given(
    minute=st.integers(0, 59),
    hour=st.integers(0, 23),
    zone=st.sampled_from([zone for zone in ZONES if zone != APIA]),
    day=st.sampled_from(TROUBLE),
)
def test_a_fixed_time_is_due_once_on_every_local_day(minute, hour, zone, day):
    cron = Cron.parse(f"{minute} {hour} * * *", zone)
    start = at(f"{day}T12:00:00Z") - 3 * DAY

    local = [moment(instant, zone) for instant in due(cron, start, 6)]

    assert [b.toordinal() - a.toordinal() for a, b in pairwise(local)] == [1] * 5
    assert all((t.hour, t.minute) >= (hour, minute) for t in local)
    assert sum((t.hour, t.minute) != (hour, minute) for t in local) <= 1


def values(part: str, top: int) -> set[int]:
    """An independent reading of a field, for comparison."""
    found: set[int] = set()
    for item in part.split(","):
        bounds, _, step = item.partition("/")
        low, _, high = ("0", "-", str(top)) if bounds == "*" else bounds.partition("-")
        found.update(range(int(low), int(high or low) + 1, int(step or 1)))
    return found


@pytest.mark.parametrize("nth", range(1, 6))
def test_the_nth_weekday_agrees_with_the_calendar(nth):
    cron = Cron.parse(f"0 0 * * WED#{nth}")
    weeks = [calendar.monthcalendar(2026, month) for month in range(1, 13)]
    wednesdays = [
        [w[calendar.WEDNESDAY] for w in weeks_ if w[calendar.WEDNESDAY]] for weeks_ in weeks
    ]
    expected = [(m, days[nth - 1]) for m, days in enumerate(wednesdays, 1) if len(days) >= nth]

    local = [moment(i) for i in due(cron, at("2025-12-31T23:59:59Z"), len(expected))]

    assert [(when.month, when.day) for when in local] == expected


@pytest.mark.parametrize("zone", ["UTC", NEW_YORK, "Pacific/Kiritimati"])
def test_nothing_is_due_after_2199(zone):
    cron = Cron.parse("* * * * *", zone)

    assert cron.after(INSTANT_MAX - MINUTE) == INSTANT_MAX + 1 - MINUTE
    assert cron.after(INSTANT_MAX + 1 - MINUTE) is None
    assert cron.after(INSTANT_MAX) is None
    assert cron.after(2**63) is None


def test_the_epoch_itself_can_be_due():
    assert Cron.parse("* * * * *").after(-1) == 0


@settings(deadline=None)
@given(st.text(alphabet="0123456789*/-,#LWH?@ MONJAx\t", max_size=40) | st.text(max_size=300))
def test_any_text_is_either_a_schedule_or_refused(text):
    outcome = read(text)

    if isinstance(outcome, Cron):
        assert outcome.after(0) is not None
        assert Cron.parse(outcome.expression) == outcome
    else:
        assert outcome.field == "cronExpr"
        assert outcome.hint


def read(text: str) -> Cron | Invalid:
    try:
        return Cron.parse(text)
    except (InvalidCron, NeverFires) as error:
        return error


@settings(deadline=None)
@given(expressions())
def test_every_schedule_can_be_explained(expression):
    cron = parsed(expression, BERLIN)
    if cron is not None:
        assert explain(cron).endswith("(Europe/Berlin)")


@pytest.mark.parametrize("expression", ["*/15 * * * *", "30 2 * * *", "0 9 1 1 *", "0 0 * * FRI#1"])
def test_the_next_occurrence_is_found_quickly(expression):
    cron = Cron.parse(expression, NEW_YORK)
    start = at("2026-11-15T12:34:56Z")
    fastest = min(timed(cron, start) for _ in range(200))

    assert fastest < 30e-6  # about 1 µs here; the limit only catches a change of kind


def timed(cron: Cron, start: int) -> float:
    started = time.perf_counter()
    cron.after(start)
    return time.perf_counter() - started


@pytest.mark.parametrize("early_us", [1, SECOND // 2, SECOND])
@pytest.mark.parametrize(
    ("expression", "zone", "end_of_gap"),
    [
        ("0 0 * * *", BEIRUT, "2026-03-28T22:00:00Z"),
        ("30 2 * * *", BERLIN, "2026-03-29T01:00:00Z"),
    ],
)
def test_what_a_gap_swallowed_is_due_at_its_end_however_shortly_before_it_is_asked(
    expression, zone, end_of_gap, early_us
):
    cron, end = Cron.parse(expression, zone), at(end_of_gap)

    assert cron.after(end - early_us) == end
    assert cron.count(end, end, limit=10) == 1
