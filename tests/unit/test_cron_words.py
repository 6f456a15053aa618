"""Every expression is explained in one English sentence, with its zone."""

import pytest

from onthedot.core.schedules import Cron, explain


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("* * * * *", "Every minute"),
        ("*/15 * * * *", "Every 15 minutes"),
        ("*/7 * * * *", "At minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour"),
        ("0 * * * *", "At the start of every hour"),
        ("5 * * * *", "At minute 5 of every hour"),
        ("5,35 * * * *", "At minutes 5 and 35 of every hour"),
        ("0-10 * * * *", "At minutes 0 to 10 of every hour"),
        ("*/15 9-17 * * MON-FRI", "Every 15 minutes from 09:00 to 17:59 on Monday through Friday"),
        ("0 9-17 * * *", "At the start of every hour from 09:00 to 17:59"),
        ("5 */2 * * *", "At minute 5 of every 2nd hour"),
        ("0 */6 * * *", "At 00:00, 06:00, 12:00 and 18:00 every day"),
        ("* 2 * * *", "Every minute from 02:00 to 02:59"),
        ("*/15 9,12,18 * * *", "Every 15 minutes of the hours 09, 12 and 18"),
        ("*/10 * * * * *", "Every 10 seconds"),
        ("30 */5 * * * *", "At second 30 of every 5th minute"),
        ("*/10 */5 * * * *", "Every 10 seconds of every 5th minute"),
        (
            "*/10 30 2 * * *",
            "At 02:30:00, 02:30:10, 02:30:20, 02:30:30, 02:30:40 and 02:30:50 every day",
        ),
        ("* * * * * *", "Every second"),
        ("5,35 * * * * *", "At seconds 5 and 35 of every minute"),
        ("30 2 * * *", "At 02:30 every day"),
        ("0 9 * * MON-FRI", "At 09:00 on Monday through Friday"),
        ("0 0 22 * *", "At 00:00 on the 22nd day of every month"),
        ("0 0 11 * *", "At 00:00 on the 11th day of every month"),
        ("0 9 L * *", "At 09:00 on the last day of every month"),
        ("0 9 LW * *", "At 09:00 on the last weekday of every month"),
        ("0 9 1,L * *", "At 09:00 on the 1st day and the last day of every month"),
        ("0 9 15W * *", "At 09:00 on the weekday nearest to the 15th of every month"),
        ("0 9 1,15 JAN,JUL *", "At 09:00 on the 1st and 15th day of January and July"),
        ("0 0 * * 5L", "At 00:00 on the last Friday of every month"),
        ("0 0 * * MON#2", "At 00:00 on the second Monday of every month"),
        ("0 0 * * MON#2,FRI#L", "At 00:00 on the second Monday and the last Friday of every month"),
        ("0 0 13 * FRI", "At 00:00 on the 13th day of every month and on Friday"),
        ("0 0 13 * +FRI", "At 00:00 on the 13th day of every month, if it is a Friday"),
        (
            "0 0 */2 * MON",
            "At 00:00 on every 2nd day from the 1st of every month, if it is a Monday",
        ),
        (
            "0 12 1 * +MON,SUN",
            "At 12:00 on the 1st day of every month, if it is a Monday or a Sunday",
        ),
        ("0 0 * 6-8 *", "At 00:00 every day in June through August"),
        ("0 0 * 6-8 SUN", "At 00:00 on Sunday in June through August"),
        ("*/5 * * 12 *", "Every 5 minutes in December"),
        ("0 0 0 1 1 * 2027", "At 00:00 on the 1st day of January in 2027"),
        ("0 0 0 1 1 * */2", "At 00:00 on the 1st day of January in every 2nd year from 1970"),
        ("0 0 0 1 1 * 2027-2030", "At 00:00 on the 1st day of January in 2027 through 2030"),
        ("0 0 0 * * * 2027,2029", "At 00:00 every day in 2027 and 2029"),
        ("0 0 1-31 * MON", "At 00:00 every day"),
        ("0 22-23,0-2 * * *", "At 00:00, 01:00, 02:00, 22:00 and 23:00 every day"),
        ("0,30 1-5,7,9 * * *", "Every 30 minutes of the hours 01 to 05, 07 and 09"),
        (
            "7 1,5,9,13,17,21,22,23 * * *",
            "At minute 7 of the hours 01, 05, 09, 13, 17 and 21 to 23",
        ),
        ("0 0 1-7 * *", "At 00:00 on the 1st through 7th day of every month"),
        ("0 0 * * 6,7", "At 00:00 on Saturday and Sunday"),
        ("0 9 * * 2", "At 09:00 on Tuesday"),
        ("*/5 * * * SAT", "Every 5 minutes on Saturday"),
    ],
)
def test_an_expression_is_one_english_sentence(expression, sentence):
    assert explain(Cron.parse(expression)) == f"{sentence} (UTC)"


def test_the_zone_is_named():
    assert explain(Cron.parse("@daily", "Asia/Tokyo")) == "At 00:00 every day (Asia/Tokyo)"


def test_a_hashed_value_is_named_as_it_is():
    cron = Cron.parse("H H(0-7) * * *", seed="default/nightly")

    assert explain(cron) == "At 07:53 every day (UTC)"
