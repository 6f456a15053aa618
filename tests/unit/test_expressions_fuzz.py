"""Any text at all is a schedule or is refused, quickly, with a field and a next step: English and
ISO 8601. CI reads 10,000 texts of each; `python3 dev.py cron` reads a million.
"""

import time
from collections.abc import Callable
from random import Random

import pytest

from onthedot.core.instants import INSTANT_MAX, parse_instant
from onthedot.core.schedules import (
    Once,
    Schedule,
    Terms,
    coming,
    explain,
    normal_form,
    read_schedule,
)
from onthedot.core.schedules.english import read_english
from onthedot.core.schedules.english_cursor import NotEnglish
from onthedot.core.schedules.english_near import FORMS
from onthedot.core.schedules.english_words import VOCABULARY
from onthedot.core.schedules.terms import LENGTH_MAX
from onthedot.errors import Invalid, InvalidSchedule
from tests.support.cron_chance import TEXT_PARTS, TEXTS

TERMS = Terms(parse_instant("2026-11-16T01:00:00Z", field="now"), "Europe/Berlin", seed="a job")
FILL = [
    *("9:00", "17:30", "9am", "25:00", "1st", "15th", "32nd", "0", "2", "15", "99", "2027", "13pm"),
    *("2027-02-29", "2027-03-01", "2027-01-31T09:00:00Z", ",", ",,", "(", ")", "(UTC)", "every"),
]
WORDS = [*VOCABULARY, *FILL, *FILL]
ISO = "PPRRTTYMWDHMS0123456789//..-:Z"
STARTS = ["R/2027-01-31T09:00:00Z/", "R5/2027-01-31T09:00/", "R9/", "P", "PT", "R"]


def any_english(chance: Random) -> str:
    if chance.random() < 0.3:
        return " ".join(chance.choices(WORDS, k=chance.randint(1, 12)))
    words = chance.choice(FORMS).split(" ")
    for _ in range(chance.randint(0, 3)):
        place = chance.randrange(len(words))
        change = chance.choice([chance.choice(WORDS), "", words[place] * 2, words[place][1:]])
        words[place] = change
    return " ".join(words)


def any_iso(chance: Random) -> str:
    if chance.random() < 0.5:
        return "".join(chance.choices(ISO, k=chance.randint(1, 30)))
    return chance.choice(STARTS) + "".join(chance.choices(ISO, k=chance.randint(0, 8)))


def outcome(read: Callable[[str, Terms], object], text: str) -> object:
    try:
        return read(text, TERMS)
    except (NotEnglish, Invalid) as refused:
        return refused


@pytest.mark.parametrize("part", range(TEXT_PARTS))
def test_any_english_is_read_or_refused(part, record_property):
    chance = Random(part)
    record_property("texts read as English", TEXTS // TEXT_PARTS)
    understood = 0
    for _ in range(TEXTS // TEXT_PARTS):
        text = any_english(chance)
        found = outcome(read_english, text)
        if isinstance(found, NotEnglish):
            assert 1 <= found.position <= len(text) + 1, text
            assert found.why, text
        if isinstance(found, Exception):
            continue
        understood += 1
        assert isinstance(found, Schedule | Once)
        assert len(normal_form(found)) <= LENGTH_MAX, text
        again = read_english(explain(found), TERMS)
        assert normal_form(again) == normal_form(found), text
    assert understood > TEXTS // TEXT_PARTS // 20


@pytest.mark.parametrize("part", range(TEXT_PARTS))
def test_any_iso_8601_is_read_or_refused_with_a_next_step(part, record_property):
    chance = Random(part)
    record_property("texts read as ISO 8601", TEXTS // TEXT_PARTS)
    for _ in range(TEXTS // TEXT_PARTS):
        text = any_iso(chance)
        found = outcome(read_schedule, text)
        if isinstance(found, Invalid):
            assert found.field == "schedule", text
            assert found.hint, text
        if isinstance(found, Once | Exception):
            continue
        assert isinstance(found, Schedule)
        form = normal_form(found)
        assert normal_form(read_schedule(form, TERMS)) == form, text
        dues = [each.at for each in coming(found, TERMS.now, 3, anchor=TERMS.now)]
        assert all(TERMS.now < due <= INSTANT_MAX for due in dues), text
        assert dues == sorted(set(dues)), text


def test_a_refusal_offers_something_that_is_understood():
    chance = Random(1)
    for _ in range(TEXTS // 50):
        found = outcome(read_schedule, any_english(chance))
        if isinstance(found, InvalidSchedule) and found.hint.startswith("Did you mean '"):
            assert coming(read_schedule(found.hint[14:-2], TERMS), TERMS.now, 1, anchor=TERMS.now)


@pytest.mark.parametrize(
    "text",
    [
        "and " * 64,
        "at 9:00, " * 28,
        "every day at " + "9:00 and " * 26 + "9:00",
        "on the 1st, " * 21,
        "(" * 256,
        "e" * 256,
        "every " * 42,
        "P" + "1Y" * 100,
        "R/" * 128,
    ],
    ids=lambda text: text[:20],
)
def test_the_costliest_texts_cost_little(text):
    def timed() -> float:
        started = time.perf_counter()
        outcome(read_schedule, text[:LENGTH_MAX])
        return time.perf_counter() - started

    # Some milliseconds; the limit only catches a change of kind.
    assert min(timed() for _ in range(3)) < 0.1
