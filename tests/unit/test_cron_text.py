"""The text of a cron expression and the name of a zone: what is read, what is refused and how."""

import pytest

from onthedot.core.instants import parse_instant
from onthedot.core.schedules import Cron
from onthedot.errors import InvalidCron, InvalidTimezone, NeverFires


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
        (" @Hourly ", "0 * * * *"),
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
        ("x * * * *", "minute 'X'"),
        ("MON * * * *", "minute 'MON'"),
        ("* * * MON *", "month 'MON'"),
        ("1.5 * * * *", "minute '1.5'"),
        ("٥ * * * *", "minute '٥'"),
        ("*/0 * * * *", "has a step '0'"),
        ("*/ * * * *", "has a step ''"),
        ("*/x * * * *", "has a step 'X'"),
        ("*/90 * * * *", "step above 60"),
        ("0 */25 * * *", "step above 24"),
        ("5/10 * * * *", "step after a single value"),
        ("0 22-2 * * *", "hour '22-2'"),
        ("0 0 * * FRI-MON", "runs backwards"),
        ("0 0 ? * *", "uses '?'"),
        ("0 0 15W * *", "nearest weekday"),
        ("H * * * *", "Jenkins"),
        ("H/15 * * * *", "Jenkins"),
        ("0 0 L-3 * *", "day-of-month 'L-3'"),
        ("L * * * *", "minute 'L'"),
        ("0 0 * * MON#6", "which is not 1-5"),
        ("0 0 * * MON#", "which is not 1-5"),
        ("0 0 * * L", "day-of-week 'L'"),
        ("", "is empty"),
        (" \n ", "is empty"),
        ("* * * *", "has 4 fields"),
        ("* * * * * *", "has 6 fields"),
        ("0 0 0 * * * 2027", "has 7 fields"),
        ("@reboot", "'@reboot' has no meaning"),
        ("@every 5m", "is an interval"),
        ("@fortnightly", "nickname '@fortnightly' is not known"),
        ("@daily 5", "is not known"),
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
        ("0 30 2 * * *", "'30 2 * * *'"),
        ("*/10 * * * * *", "`every`"),
        ("@every 5m", "`every`"),
        ("0 22-2 * * *", "'22-23,0-2'"),
        ("5/10 * * * *", "'5-59/10'"),
        ("*/90 * * * *", "`every`"),
        ("0 0 ? * *", "'*'"),
    ],
)
def test_a_refusal_says_the_next_step(expression, next_step):
    assert next_step in refusal(expression).hint


@pytest.mark.parametrize(
    "expression",
    ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 30-31 FEB */2", "0 0 */30 * MON#2"],
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
