"""Random cron expressions, zones and instants for the judges: the same ones for the same seed.

And how many of each: few in CI, many with `python3 dev.py cron`.
"""

from __future__ import annotations

import os
from random import Random
from zoneinfo import available_timezones

PAIRS = int(os.environ.get("ONTHEDOT_CRON_PAIRS", "1200"))
TEXTS = int(os.environ.get("ONTHEDOT_CRON_TEXTS", "10000"))
# Several tests each, so that two processes share them and one sees how far they have come.
PAIR_PARTS = max(8, PAIRS // 1_000)
TEXT_PARTS = max(4, TEXTS // 50_000)

# Every name of the tz database that a job may have; the judges scan minutes from 1973 on.
ZONES = sorted(available_timezones() - {"localtime", "Factory"})
FIRST, LAST = 94_694_400, 4_102_444_800  # 1973 to 2100
DAY_NAMES = ["SUN", "mon", "Tue", "WED", "THU", "FRI", "SAT"]
MONTH_NAMES = ["jan", "FEB", "Mar", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]


def expression(chance: Random, *, plain: bool = False) -> str:
    """Five fields. `plain`: only what every cron reads alike."""
    hours = chance.choice([small_hours, field])
    return " ".join(
        (
            field(chance, 0, 59),
            hours(chance, 0, 23),
            field(chance, 1, 31) if plain else days(chance),
            chance.choice(["*", "*", "*", field(chance, 1, 12)]),
            field(chance, 0, 6) if plain else weekdays(chance),
        )
    )


def field(chance: Random, low: int, high: int) -> str:
    if chance.random() < 0.4:
        return "*"
    return ",".join(item(chance, low, high) for _ in range(chance.choice([1, 1, 1, 2, 3])))


def item(chance: Random, low: int, high: int) -> str:
    first, last = sorted(chance.sample(range(low, high + 1), 2))
    step = chance.randint(2, 7 if high < 10 else (high - low + 1) // 2)
    kinds = (str(first), str(first), f"{first}-{last}", f"*/{step}", f"{first}-{last}/{step}")
    return chance.choice(kinds)


def small_hours(chance: Random, low: int, high: int) -> str:
    """Clocks change at night, so half of the times should be there."""
    return chance.choice(["0", "1", "2", "3", "23", "1-3", "0,2", "*/2", "2-4/2"])


def days(chance: Random) -> str:
    special = ["L", "LW", f"{chance.randint(1, 31)}W", "1,L", "?", "15,LW"]
    return chance.choice([*special, "*", "*", "*", field(chance, 1, 31), field(chance, 1, 31)])


def weekdays(chance: Random) -> str:
    day, name = chance.randint(0, 7), chance.choice(DAY_NAMES)
    special = [f"{name}#{chance.randint(1, 5)}", f"{day}L", f"{name}#L,{day}", "?", name]
    kinds = [*special, "*", "*", "*", "MON-FRI", field(chance, 0, 7), f"+{field(chance, 0, 7)}"]
    return chance.choice(kinds)


def instant(chance: Random) -> int:
    return chance.randint(FIRST, LAST)
