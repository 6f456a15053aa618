"""Repetitions: steps of the calendar from a start, on hard days and in hard zones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo

import pytest

from onthedot.core.instants import DAY, HOUR, INSTANT_MAX, SECOND, format_instant, parse_instant
from onthedot.core.schedules import (
    DstGap,
    DstOverlap,
    Every,
    Once,
    Repeat,
    Step,
    Terms,
    coming,
    explain,
    latest,
    normal_form,
    read_schedule,
    span,
)
from onthedot.errors import Invalid, InvalidInstant, InvalidSchedule

NOW = parse_instant("2026-01-31T09:00:00Z", field="NOW")


def read(
    text: str,
    timezone: str = "UTC",
    gap: DstGap | None = None,
    overlap: DstOverlap | None = None,
) -> Repeat:
    found = read_schedule(text, Terms(NOW, timezone, gap, overlap))
    assert isinstance(found, Repeat)
    return found


def instants(repeat: Repeat, count: int, after: int | None = None) -> list[str]:
    start = repeat.start if after is None else after
    return [format_instant(each.at) for each in coming(repeat, start, count, anchor=0)]


def local(repeat: Repeat, count: int) -> list[str]:
    zone = ZoneInfo(repeat.timezone)
    dues = coming(repeat, repeat.start - 1, count, anchor=0)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    moments = [(epoch + timedelta(microseconds=each.at)).astimezone(zone) for each in dues]
    return [f"{moment:%m-%d %H:%M%z}" for moment in moments]


# Each: what is counted, from when, in which zone, and the first instants on the wall there.
HARD_DAYS = [
    # The end of a month is the end of the month, and the start is not forgotten.
    ("R/2026-01-31T09:00:00/P1M", "UTC", "01-31 02-28 03-31 04-30 05-31", "09:00"),
    ("R/2028-01-31T09:00:00/P1M", "UTC", "01-31 02-29 03-31 04-30 05-31", "09:00"),
    ("R/2026-11-30T09:00:00/P3M", "UTC", "11-30 02-28 05-30 08-30 11-30", "09:00"),
    # 29 February comes again every four years, and on the 28th meanwhile.
    ("R/2028-02-29T00:00:00/P1Y", "UTC", "02-29 02-28 02-28 02-28 02-29", "00:00"),
    # 2100 is no leap year.
    ("R/2096-02-29T00:00:00/P4Y", "UTC", "02-29 02-28 02-29 02-29 02-29", "00:00"),
    # The time of day stays, whatever the clocks do.
    ("R/2027-03-27T09:00:00/P1D", "Europe/Berlin", "03-27 03-28 03-29", "09:00"),
    ("R/2027-10-30T09:00:00/P1D", "America/New_York", "10-30 10-31 11-01", "09:00"),
    ("R/2027-10-24T02:30:00/P1W", "Europe/London", "10-24 10-31 11-07", "02:30"),
]


@pytest.mark.parametrize(("text", "zone", "days", "time"), HARD_DAYS, ids=str)
def test_steps_of_the_calendar_are_counted_from_the_start(text, zone, days, time):
    shown = local(read(text, zone), len(days.split()))

    assert [each[:5] for each in shown] == days.split()
    assert {each[6:11] for each in shown} == {time}


# Each: zone, start, and the second occurrence of `P1D` under each rule.
GAPS = [
    ("Europe/Berlin", "2027-03-27T02:30:00", "01:00", "00:59", "03-29"),
    ("America/New_York", "2027-03-13T02:30:00", "07:00", "06:59", "03-15"),
    ("Australia/Lord_Howe", "2026-10-03T02:15:00", "15:30", "15:29", "10-04"),
    ("Africa/Cairo", "2027-04-29T00:30:00", "22:00", "21:59", "04-30"),
]


@pytest.mark.parametrize(("zone", "start", "after", "before", "skipped_to"), GAPS)
def test_a_time_in_the_gap_follows_the_rule_of_the_job(zone, start, after, before, skipped_to):
    def second(gap: DstGap) -> str:
        return instants(read(f"R/{start}/P1D", zone, gap), 1)[0]

    assert second("after")[11:16] == after
    assert second("before")[11:16] == before
    assert second("skip")[5:10] == skipped_to
    marked = coming(read(f"R/{start}/P1D", zone), read(f"R/{start}/P1D", zone).start, 2, anchor=0)
    assert [each.marks for each in marked] == [("dstGap",), ()]


@pytest.mark.parametrize(
    ("overlap", "shown"),
    [
        ("first", ["2027-10-31T00:30:00Z"]),
        ("second", ["2027-10-31T01:30:00Z"]),
        ("both", ["2027-10-31T00:30:00Z", "2027-10-31T01:30:00Z"]),
    ],
)
def test_a_time_in_the_overlap_follows_the_rule_of_the_job(overlap, shown):
    found = read("R/2027-10-30T02:30:00/P1D", "Europe/Berlin", None, overlap)

    assert instants(found, len(shown)) == shown
    assert instants(found, len(shown) + 1)[-1] == "2027-11-01T01:30:00Z"


def test_samoa_had_no_30_december():
    assert local(read("R/2011-12-29T09:00:00/P1D", "Pacific/Apia"), 2) == [
        "12-29 09:00-1000",
        "12-31 09:00+1400",
    ]


def test_days_are_of_the_calendar_and_hours_elapse():
    day = read("R/2027-03-27T12:00:00Z/P1D", "Europe/Berlin")
    hours = read("R/2027-03-27T12:00:00Z/PT24H", "Europe/Berlin")

    assert instants(day, 1) == ["2027-03-28T11:00:00Z"]
    assert instants(hours, 1) == ["2027-03-28T12:00:00Z"]


def test_a_duration_is_counted_from_now_and_a_short_one_is_an_interval():
    month = read("P1M")

    assert instants(month, 3, NOW) == [
        "2026-02-28T09:00:00Z",
        "2026-03-31T09:00:00Z",
        "2026-04-30T09:00:00Z",
    ]
    assert read_schedule("PT15M", Terms(NOW)) == Every(15 * 60 * SECOND)
    assert normal_form(month) == "P1M"
    assert explain(month) == "every month, counted from 2026-01-31 09:00 (UTC)"


def test_a_repetition_ends_after_its_times():
    five = read("R5/2026-01-01T00:00:00Z/PT1H")
    two = read("R2/PT1H")

    assert len(instants(five, 10, 0)) == 5
    assert instants(five, 10, 0)[-1] == "2026-01-01T04:00:00Z"
    assert instants(two, 9, NOW) == ["2026-01-31T10:00:00Z", "2026-01-31T11:00:00Z"]
    assert explain(five) == "every hour, from 2026-01-01T00:00:00Z, 5 times"


def test_an_instant_and_a_local_time_are_one_occurrence():
    terms = Terms(NOW, "Europe/Berlin")

    assert read_schedule("2027-01-31T09:30:00Z", terms) == read_schedule("2027-01-31T10:30", terms)
    assert isinstance(read_schedule("2027-01-31T09:30:00Z", terms), Once)


@pytest.mark.parametrize(
    ("text", "kind", "said", "position"),
    [
        ("P", Invalid, "no amount", None),
        ("P1", InvalidSchedule, "is not a duration", 2),
        ("P1M1Y", InvalidSchedule, "is not a duration", 4),
        ("P1DT", Invalid, "no amount", None),
        ("P0D", InvalidSchedule, "shorter than 1 s", 1),
        ("P101Y", InvalidSchedule, "longer than 100 years", 1),
        ("P1.5D", InvalidSchedule, "is not a duration", 2),
        ("R0/P1D", InvalidSchedule, "repeats '0' times", 2),
        ("R5", InvalidSchedule, "is not a repeating interval", 3),
        ("R5/2026-01-01T00:00:00Z/2026-02-01T00:00:00Z", InvalidSchedule, "is not a repeating", 3),
        ("R5/2026-13-01T00:00:00Z/P1D", InvalidInstant, "date of the calendar", None),
        ("R5/2026-01-01T00:00:00Z/P1X", InvalidSchedule, "is not a duration", 26),
        ("2027-02-30T09:00:00Z", InvalidInstant, "date of the calendar", None),
        ("x" * 257, InvalidSchedule, "257 characters", None),
    ],
)
def test_what_is_not_iso_8601_is_refused_with_a_next_step(text, kind, said, position):
    with pytest.raises(kind, match=said) as refused:
        read_schedule(text, Terms(NOW))

    assert refused.value.field == "schedule"
    assert refused.value.hint
    assert refused.value.position == position


ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"]


def any_repeat(chance: Random) -> Repeat:
    months, days = chance.choice([(0, 1), (1, 0), (0, 7), (12, 0), (3, 10), (0, 2), (7, 0)])
    us = chance.choice([0, 0, 0, HOUR])
    if chance.random() < 0.2:
        months, days, us = 0, 0, chance.randint(SECOND, 40 * DAY)
    return Repeat(
        chance.randint(0, INSTANT_MAX // SECOND) * SECOND,
        Step(months, days, us),
        chance.choice(ZONES),
        chance.choice([None, "after", "before", "skip"]),
        chance.choice([None, "first", "second", "both"]),
        chance.choice([None, None, 1, 5]),
        chance.random() < 0.5,
    )


@pytest.mark.parametrize("seed", range(40))
def test_instants_grow_none_is_left_out_and_ranges_agree(seed):
    chance = Random(seed)
    repeat = any_repeat(chance)
    first = 1 if repeat.after_start else 0
    turns = min(12, repeat.times or 12)
    begin = repeat._begin()
    wanted = [due for k in range(first, first + turns) for due in repeat._dues(k, begin, -1)]
    wanted = [due for due in wanted if due <= INSTANT_MAX]

    found = [each.at for each in coming(repeat, 0, len(wanted), anchor=0)]

    assert found == sorted(set(wanted))
    for due in found:
        assert repeat.after(due - 1) == due
    if found:
        last = latest(repeat, found[-1] + 1, first=found[0], anchor=0)
        assert last == found[-1]
        over = span(repeat, found[0], found[-1], anchor=0)
        assert over is not None
        assert over.count == len(found)
