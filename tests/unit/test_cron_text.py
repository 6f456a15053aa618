"""The text of a cron expression and the name of a zone: what is read, what is refused and how."""

import re

import pytest

from onthedot.core.instants import parse_instant
from onthedot.core.schedules import Cron
from onthedot.errors import InvalidCron, InvalidTimezone, NeverFires, RebootUnsupported


def at(text: str) -> int:
    return parse_instant(text, field="at")


def due(cron: Cron, after: int, count: int) -> list[int]:
    occurrences: list[int] = []
    while len(occurrences) < count and (instant := cron.after(after)) is not None:
        occurrences.append(instant)
        after = instant
    return occurrences


def refusal(expression: str) -> InvalidCron:
    with pytest.raises(InvalidCron) as caught:
        Cron.parse(expression)
    assert caught.value.field == "cronExpr"
    assert caught.value.hint
    return caught.value


# --- reading ------------------------------------------------------------------------------------


def test_whitespace_is_normalised():
    assert Cron.parse("  */5\t*  * *   mon ").expression == "*/5 * * * mon"


@pytest.mark.parametrize(
    ("nickname", "expression"),
    [
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        ("@monthly", "0 0 1 * *"),
        ("@weekly", "0 0 * * 0"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        (" \t@hourly ", "0 * * * *"),
    ],
)
def test_a_nickname_is_spelled_out(nickname, expression):
    assert Cron.parse(nickname).expression == expression


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("0 0 * * 0", "0 0 * * 7"),
        ("0 0 * * sun", "0 0 * * 7"),
        ("0 0 * JAN,mar *", "0 0 * 1,3 *"),
        ("0 0 * * mon-FRI", "0 0 * * 1-5"),
        ("0 0 * * 5-7", "0 0 * * FRI,SAT,SUN"),
        ("05 007 * * *", "5 7 * * *"),
        ("*/15 * * * *", "0,15,30,45 * * * *"),
        ("10-30/10 * * * *", "10,20,30 * * * *"),
        ("5-5/10 * * * *", "5 * * * *"),  # cronsim alone reads 5-59/10
        ("*/60 * * * *", "0 * * * *"),
        ("0 0 * * FRIL", "0 0 * * 5L"),
        ("0 0 * * MON#2", "0 0 * * 1#2"),
        ("0 0 * * 0#1", "0 0 * * 7#1"),
        ("0 0 * * FRI#L", "0 0 * * 5L"),
        ("0 0 * * fri#L", "0 0 * * FRIL"),
        ("0 0 * * FRI-SUN", "0 0 * * 5-7"),
        ("0 0 ? * MON", "0 0 * * MON"),
        ("0 0 1 * ?", "0 0 1 * *"),
        ("0 12 * * *", "0 0 12 * * *"),
        ("0 12 * * *", "0 0 12 * * * *"),
        ("0,30 12 * * *", "0 0-59/30 12 * * *"),
        ("0 0 0 1 1 * */2", "0 0 0 1 1 * 1970-2199/2"),
        ("*,1-30 * * * *", "* * * * *"),
    ],
)
def test_two_ways_of_writing_the_same_schedule_are_due_together(one, other):
    start = at("2026-01-01T00:00:00Z")

    assert due(Cron.parse(one), start, 40) == due(Cron.parse(other), start, 40)


@pytest.mark.parametrize(
    ("expression", "days"),
    [
        ("0 0 L * *", ["2026-01-31", "2026-02-28", "2026-03-31"]),
        ("0 0 LW * *", ["2026-01-30", "2026-02-27", "2026-03-31"]),
        ("0 0 * * 5L", ["2026-01-30", "2026-02-27", "2026-03-27"]),
        ("0 0 * * MON#2", ["2026-01-12", "2026-02-09", "2026-03-09"]),
        ("0 0 * * SUN#5", ["2026-03-29", "2026-05-31", "2026-08-30"]),
        ("0 0 13 * 5", ["2026-01-02", "2026-01-09", "2026-01-13"]),  # neither has a star: either
        ("0 0 */2 * 1", ["2026-01-05", "2026-01-19", "2026-02-09"]),  # a star: both, as in Debian
        ("0 0 29 2 *", ["2028-02-29", "2032-02-29", "2036-02-29"]),
        ("0 0 31 * *", ["2026-01-31", "2026-03-31", "2026-05-31"]),
        ("0 0 1-31 * 1", ["2026-01-02", "2026-01-03", "2026-01-04"]),  # all days, yet restricted
        ("0 0 13 * +FRI", ["2026-02-13", "2026-03-13", "2026-11-13"]),  # a plus: both
        ("0 0 1 * +MON", ["2026-06-01", "2027-02-01", "2027-03-01"]),
        ("0 0 * * 5#L", ["2026-01-30", "2026-02-27", "2026-03-27"]),
        ("0 0 15W * *", ["2026-01-15", "2026-02-16", "2026-03-16"]),  # 15 Feb 2026 is a Sunday
        ("0 0 1W * *", ["2026-02-02", "2026-03-02", "2026-04-01"]),
        ("0 0 1W 8 *", ["2026-08-03", "2027-08-02", "2028-08-01"]),  # a Saturday: not back to July
        ("0 0 31W * *", ["2026-01-30", "2026-03-31", "2026-05-29"]),  # a Sunday: not on to June
        ("0 0 0 29 2 * *", ["2028-02-29", "2032-02-29", "2036-02-29"]),
        ("0 0 0 1 1 * 2030,2040-2041", ["2030-01-01", "2040-01-01", "2041-01-01"]),
        ("0 0 0 1 1 * */2", ["2028-01-01", "2030-01-01", "2032-01-01"]),  # counted from 1970
        ("0 0 29 2 */7", ["2032-02-29", "2060-02-29", "2088-02-29"]),
    ],
)
def test_days_are_matched_as_in_debian_cron_with_a_few_extensions(expression, days):
    occurrences = due(Cron.parse(expression), at("2026-01-01T12:00:00Z"), 3)

    assert occurrences == [at(f"{day}T00:00:00Z") for day in days]


def test_the_year_2100_has_no_leap_day():
    cron = Cron.parse("0 0 29 2 *")

    assert cron.after(at("2096-02-29T00:00:00Z")) == at("2104-02-29T00:00:00Z")


def test_the_rarest_day_is_found_forty_years_on():
    leap_day_on_a_sunday = Cron.parse("0 0 29 2 */7")

    assert leap_day_on_a_sunday.after(at("2088-02-29T00:00:00Z")) == at("2128-02-29T00:00:00Z")


# --- refusing -----------------------------------------------------------------------------------


def test_a_value_out_of_range_is_named_with_its_field():
    error = refusal("75 * * * *")

    assert error.message == "minute '75' in '75 * * * *' is out of range 0-59"
    assert error.hint.startswith("Use 0-59, '*', or a step such as '*/15'.")


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("60 * * * *", "minute '60'"),
        ("* 24 * * *", "hour '24'"),
        ("* * 0 * *", "day-of-month '0'"),
        ("* * 32 * *", "day-of-month '32'"),
        ("* * * 13 *", "month '13'"),
        ("* * * * 8", "day-of-week '8'"),
        ("0-70 * * * *", "minute '0-70'"),
        ("99999999999999999999 * * * *", "out of range"),
        ("5,,7 * * * *", "empty list element"),
        ("5, * * * *", "empty list element"),
        ("-5 * * * *", "minute '-5'"),
        ("1-2-3 * * * *", "minute '1-2-3'"),
        ("** * * * *", "minute '**'"),
        ("x * * * *", "minute 'x'"),
        ("MON * * * *", "minute 'MON'"),
        ("* * * MON *", "month 'MON'"),
        ("1.5 * * * *", "minute '1.5'"),
        ("٥ * * * *", "minute '٥'"),
        ("*/0 * * * *", "has a step '0'"),
        ("*/ * * * *", "has a step ''"),
        ("*/x * * * *", "has a step 'x'"),
        ("*/90 * * * *", "step above 60"),
        ("0 */25 * * *", "step above 24"),
        ("5/10 * * * *", "step after a single value"),
        ("0 22-2 * * *", "hour '22-2'"),
        ("0 0 * * FRI-MON", "runs backwards"),
        ("/30 * * * *", "step after nothing"),
        ("0/15 * * * *", "step after a single value"),
        ("0 0 10-5 * *", "runs backwards"),
        ("0 0 * * 5-0", "runs backwards"),
        ("? * * * *", "minute '?' in '? * * * *' uses '?'"),
        ("0 0 * ? *", "month '?'"),
        ("0 0 1,? * *", "may only stand alone"),
        ("0 0 ?/2 * *", "day-of-month '?/2'"),
        ("0 12 +1 * MON", "uses '+'"),
        ("0 12 1 * MON,+TUE", "uses '+'"),
        ("0 12 1 * ++MON", "uses '+'"),
        ("*,*,61 * * * *", "minute '61'"),
        ("0 0 1-15W * *", "nearest weekday of what is not a single day"),
        ("0 0 1,15W * *", "W is for a single day"),
        ("0 0 32W * *", "day-of-month '32W'"),
        ("0 0 W * *", "day-of-month 'W'"),
        ("0 0 * * 5W", "day-of-week '5W'"),
        ("0 0 l * *", "is lowercase"),
        ("0 0 15w * *", "is lowercase"),
        ("0 0 * * 5l", "is lowercase"),
        ("0 0 * * FRI#l", "asks for week 'l'"),
        ("0 0 0 * * * 1969", "year '1969'"),
        ("0 0 0 * * * 2200", "year '2200'"),
        ("0 0 0 * * * 2030-2027", "runs backwards"),
        ("60 0 0 * * *", "second '60'"),
        ("H * * * *", "uses H"),
        ("0 0 L-3 * *", "day-of-month 'L-3'"),
        ("L * * * *", "minute 'L'"),
        ("0 0 * * MON#6", "which is not 1-5"),
        ("0 0 * * MON#", "which is not 1-5"),
        ("0 0 * * L", "day-of-week 'L'"),
        ("", "is empty"),
        (" \t ", "is empty"),
        ("0 0 * *\n*", "neither a space nor a tab"),
        ("0 0 * *\u00a0*", "neither a space nor a tab"),
        ("* * * *", "has 4 fields"),
        ("0 0 0 * * * 2027 *", "has 8 fields"),
        ("@Daily", "is not lowercase"),
        ("@every 5m", "is an interval"),
        ("@fortnightly", "nickname '@fortnightly' is not known"),
        ("@daily 5", "stands alone"),
        ("@daily 0 0 * * *", "stands alone"),
        ("* * * * *" + " " * 300, "at most 256"),
        ("1," * 500_000 + "1 * * * *", "at most 256"),
    ],
    ids=lambda text: text[:20],
)
def test_a_wrong_expression_is_refused_with_what_is_wrong(expression, message):
    assert message in refusal(expression).message


@pytest.mark.parametrize(
    ("expression", "next_step"),
    [
        ("0 0 * *", "with seven, the last is the year"),
        ("0 0 l * *", "'L'"),
        ("@Daily", "'@daily'"),
        ("@every 5m", "`every`"),
        ("0 22-2 * * *", "'22-23,0-2'"),
        ("5/10 * * * *", "'5-59/10'"),
        ("*/90 * * * *", "`every`"),
        ("? * * * *", "'*'"),
        ("0/15 * * * *", "'0-59/15'"),
    ],
)
def test_a_refusal_says_the_next_step(expression, next_step):
    assert next_step in refusal(expression).hint


def test_reboot_is_recognised_and_refused_for_a_job_with_an_error_of_its_own():
    with pytest.raises(RebootUnsupported, match="belongs to no machine") as caught:
        Cron.parse(" @reboot ")

    assert caught.value.field == "cronExpr"


@pytest.mark.parametrize(
    "expression",
    [
        "0 0 30 2 *",
        "0 0 31W 2 *",
        "0 0 0 29 2 * 2027",
        "0 0 31 2,4,6,9,11 *",
        "0 0 30-31 FEB */2",
        "0 0 */30 * MON#2",
    ],
)
def test_a_schedule_without_a_single_instant_is_refused(expression):
    with pytest.raises(NeverFires, match="is never due") as caught:
        Cron.parse(expression)

    assert caught.value.field == "cronExpr"


@pytest.mark.parametrize(
    "zone",
    [
        *("", " ", "Mars/Phobos", "europe/berlin", "Europe", "Europe/", "+02:00", "UTC\0", "UTC\n"),
        *("../etc/passwd", "/etc/passwd", "Europe/../UTC", "Europe/Berlin/", "C:\\zone", "~"),
        *(
            "localtime",
            "right/UTC",
            "posix/UTC",
            "posixrules",
            "tzdata.zi",
            "zone.tab",
            "x" * 10**6,
        ),
    ],
    ids=lambda zone: repr(zone[:20]),
)
def test_what_is_not_the_name_of_a_zone_is_refused(zone):
    with pytest.raises(InvalidTimezone) as caught:
        Cron.parse("0 0 * * *", zone)

    assert caught.value.field == "timezone"
    assert caught.value.hint
    assert len(caught.value.message) < 200


@pytest.mark.parametrize(
    ("zone", "meant"),
    [
        ("europe/berlin", "Europe/Berlin"),
        ("Europe/Brelin", "Europe/Berlin"),
        ("New York", "America/New_York"),
        ("utc", "UTC"),
    ],
)
def test_a_misspelt_zone_is_refused_with_the_nearest_names(zone, meant):
    with pytest.raises(InvalidTimezone) as caught:
        Cron.parse("0 0 * * *", zone)

    assert meant in caught.value.hint


# --- H ------------------------------------------------------------------------------------------


def test_h_is_the_same_for_ever_for_one_job():
    # These very values: another hash would move the jobs of everybody who uses H.
    assert Cron.parse("H H(0-7) * * *", seed="default/nightly").plain == "53 7 * * *"
    assert Cron.parse("H H H * * H", seed="default/nightly").plain == "31 53 23 * * 5"


def test_h_spreads_jobs_over_all_values():
    minutes = {Cron.parse("H * * * *", seed=f"job {n}").plain for n in range(1_000)}
    hours = {Cron.parse("0 H(0-7) * * *", seed=f"job {n}").plain for n in range(100)}
    days = {Cron.parse("0 0 H * *", seed=f"job {n}").fields().days for n in range(1_000)}

    assert minutes == {f"{minute} * * * *" for minute in range(60)}
    assert hours == {f"0 {hour} * * *" for hour in range(8)}
    assert max(max(each.numbers) for each in days) == 28  # so that no month is left out


def test_h_with_a_step_begins_anywhere_within_the_step():
    crons = [Cron.parse("H/15 * * * *", seed=str(n)) for n in range(200)]

    assert {cron.fields().minutes[0] for cron in crons} == set(range(15))
    assert {len(cron.fields().minutes) for cron in crons} == {4}


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("H(0-70) * * * *", "minute '0-70'"),
        ("H(5) * * * *", "minute 'H(5)'"),
        ("H(7-5) * * * *", "runs backwards"),
        ("H/0 * * * *", "has a step '0'"),
        ("H/61 * * * *", "step above 60"),
        ("H5 * * * *", "minute 'H5'"),
        ("h * * * *", "minute 'h'"),
        ("0 0 0 * * * H", "no year can be"),
    ],
)
def test_a_wrong_h_is_refused(expression, message):
    with pytest.raises(InvalidCron, match=re.escape(message)):
        Cron.parse(expression, seed="a job")


def test_h_joins_lists_and_the_plus():
    assert Cron.parse("H,H(0-0) * 1 * +H", seed="a").plain == "42,0 * 1 * +2"
