"""Any text at all is a schedule or is refused, quickly, with a field and a next step.

CI reads 10,000 texts; `python3 dev.py cron` reads a million.
"""

import time
from random import Random

import pytest

from onthedot.core.schedules import Cron
from onthedot.core.schedules.terms import LENGTH_MAX
from onthedot.errors import Invalid, InvalidCron, NeverFires, RebootUnsupported
from tests.support import cron_chance
from tests.support.cron_chance import TEXT_PARTS, TEXTS

ALPHABET = "0123456789**//--,,##LLWWHH??++()@ \t\nMONjanfriSUN.x\u0665\u00a0\ud800\0"
WORDS = [
    *("*", "*/5", "1-5", "L", "LW", "15W", "MON", "FRI#L", "?", "+1", "H", "H(0-7)", "0", "59"),
    *("2027", "@daily", "*/0", "5-1", "H/15", "99", "a", "1,2,3", "JAN-MAR", "*/2,7", "", "#", "-"),
]


def any_text(chance: Random) -> str:
    kind = chance.randrange(4)
    if kind == 0:
        return "".join(chance.choices(ALPHABET, k=chance.randint(0, 40)))
    if kind == 1:
        return " ".join(chance.choices(WORDS, k=chance.randint(3, 8)))
    if kind == 2:
        return "".join(chance.choices(ALPHABET, k=chance.randint(200, 300)))
    text = list(cron_chance.expression(chance))
    for _ in range(chance.randint(0, 3)):
        text[chance.randrange(len(text))] = chance.choice(ALPHABET)
    return "".join(text)


def outcome(text: str) -> Cron | Invalid:
    try:
        return Cron.parse(text, seed="a job")
    except (InvalidCron, NeverFires, RebootUnsupported) as error:
        return error


@pytest.mark.parametrize("part", range(TEXT_PARTS))
def test_any_text_is_read_or_refused_with_a_next_step(part, record_property):
    chance = Random(part)
    record_property("texts read as cron", TEXTS // TEXT_PARTS)
    for _ in range(TEXTS // TEXT_PARTS):
        text = any_text(chance)
        found = outcome(text)
        if isinstance(found, Cron):
            assert Cron.parse(found.expression, seed="a job") == found
            assert found.explain().endswith("(UTC)")
        else:
            assert found.field == "cronExpr", text
            assert found.hint, text
            assert len(found.message) < 4 * LENGTH_MAX + 200, text


@pytest.mark.parametrize(
    "text",
    [
        "*," * 123 + "* * * * *",
        "0 0 0 1 1 * " + "*," * 121 + "*",
        "0 0 0 1 1 * " + "1970-2199," * 23 + "*",
        "* * " + "L," * 124 + "L * *",
        "0 0 31 2,4,6,9,11 *",
        "* * * * " + "MON#1," * 39 + "1",
        "-" * 256,
        "9" * 247 + " * * * *",
    ],
    ids=lambda text: text[:20],
)
def test_the_costliest_texts_cost_little(text):
    def timed() -> float:
        started = time.perf_counter()
        outcome(text)
        return time.perf_counter() - started

    # A few milliseconds at most; the limit only catches a change of kind.
    assert min(timed() for _ in range(3)) < 0.02
