"""Whatever is said in any of the fields about time is read or refused, with a field and a next
step: durations, instants, zones, the schedule as text, and windows around it. CI reads 10,000 of
each; `python3 dev.py cron` reads a million.
"""

import json
import sys
from collections.abc import Callable
from functools import partial
from itertools import count
from random import Random

import pytest

from onthedot.core.durations import DURATION_MAX, parse_duration
from onthedot.core.instants import INSTANT_MAX, format_instant, parse_instant
from onthedot.core.schedules import Cron, Every, FixedDelay, Once, Repeat, coming, read_schedule
from onthedot.core.schedules.zones import known_zones, zone_named
from onthedot.errors import Invalid, InvalidDuration, InvalidInstant, InvalidTimezone
from onthedot.wire import PreviewIn, PreviewOut, preview_of, preview_out, read
from tests.support.cron_chance import TEXT_PARTS, TEXTS
from tests.unit.test_cron_fuzz import any_text
from tests.unit.test_expressions_fuzz import TERMS, any_english, any_iso

ANYTHING = "0123456789PTWDHMSYZ.,-+:eE_/ \t\n'\"\\\u0665\u00a0\ud800\0ü"
ZONES = sorted(known_zones())
# The longest way is to the last of maxRuns, which is ten thousand instants away at most.
STEPS_MAX = 1_000_000
NUMBERS = (0, -1, 1, 0.5, -0.0, 1e-9, 1e9, 1e308, -1e308, 10**30, 2**63, float("inf"), float("nan"))


def any_duration(chance: Random) -> object:
    if chance.random() < 0.2:
        return chance.choice([*NUMBERS, True, None, [], {}, chance.random() * 10**12])
    if chance.random() < 0.5:
        return any_iso(chance)
    units = "WDTHMS"
    parts = [
        unit if unit == "T" else f"{chance.randint(0, 10**6)}{unit}"
        for unit in units
        if chance.random() < 0.7
    ]
    return "P" + "".join(parts)


def any_instant(chance: Random) -> str:
    text = list(format_instant(chance.randint(0, INSTANT_MAX)))
    for _ in range(chance.randint(0, 4)):
        text[chance.randrange(len(text))] = chance.choice([chance.choice(ANYTHING), ""])
    return "".join(text) * chance.choice([1, 1, 1, 4])


def any_zone(chance: Random) -> str:
    text = list(chance.choice(ZONES))
    for _ in range(chance.randint(0, 3)):
        text[chance.randrange(len(text))] = chance.choice([chance.choice(ANYTHING), "..", "/"])
    return "".join(text) * chance.choice([1, 1, 1, 9])


def any_delay(chance: Random) -> str:
    """An interval or a fixed delay, whole or with something wrong in it."""
    amount = chance.choice(
        ["90s", "1h30m", "1.5h", "PT5M", "15 minutes", "two hours", any_iso(chance)]
    )
    text = chance.choice(["@every {}", "fixed delay {}", "{} after the last run", "{} after"])
    said = list(text.format(amount))
    for _ in range(chance.randint(0, 2)):
        said[chance.randrange(len(said))] = chance.choice(ANYTHING)
    return "".join(said)


def any_schedule(chance: Random) -> str:
    makers = [any_text, any_english, any_iso, any_instant, any_zone, any_delay]
    return chance.choice(makers)(chance)


def any_request(chance: Random) -> dict[str, object]:
    """Fields of a preview, most of them possible, and some that make no sense together."""
    makers = {
        "every": lambda: chance.choice([1, 60, 3600, any_duration(chance)]),
        "schedule": lambda: chance.choice(["every day", "@daily", any_schedule(chance)]),
        "timezone": lambda: chance.choice(["UTC", any_zone(chance)]),
        "after": lambda: any_instant(chance),
        "startAt": lambda: any_instant(chance),
        "endAt": lambda: chance.choice(["2027-01-01T00:00:00Z", any_instant(chance)]),
        "maxRuns": lambda: chance.choice([1, 7, 10_000, 0, -1, 10_001, 1.5, "3", None]),
        "jitter": lambda: chance.choice([30, "PT5M", any_duration(chance)]),
        "spread": lambda: chance.choice([30, "PT5M", any_duration(chance)]),
        "dstGap": lambda: chance.choice(["after", "skip", "never"]),
        "count": lambda: chance.choice([1, 5, 0, 10**9]),
    }
    named = chance.sample(sorted(makers), chance.randint(1, 5))
    return {name: makers[name]() for name in named}


def first_two(text: str) -> list[int]:
    schedule = read_schedule(text, TERMS)
    return [each.at for each in coming(schedule, TERMS.now, 2, anchor=TERMS.now)]


def previewed(body: bytes) -> PreviewOut:
    return preview_out(preview_of(read(body, PreviewIn), now=TERMS.now))


def steps_of(read: Callable[[], object]) -> int:
    """How many times a function was called or left meanwhile."""
    steps = count()
    sys.setprofile(lambda *_: next(steps))
    try:
        outcome(read)
    finally:
        sys.setprofile(None)
    return next(steps)


def outcome(read: Callable[[], object]) -> object:
    """What was read, or why it was refused; None if that does not help. All else is raised."""
    try:
        return read()
    except Invalid as refused:
        return refused if refused.hint and len(refused.message) < 1_000 else None


@pytest.mark.parametrize("part", range(TEXT_PARTS))
def test_any_duration_is_read_or_refused_with_a_next_step(part, record_property):
    chance = Random(part)
    record_property("texts read as durations", TEXTS // TEXT_PARTS)
    for _ in range(TEXTS // TEXT_PARTS):
        said = any_duration(chance)
        found = outcome(partial(parse_duration, said, field="every"))
        if isinstance(found, InvalidDuration):
            assert found.field == "every", said
        else:
            assert isinstance(found, int), said
            assert 0 <= found <= DURATION_MAX, said


@pytest.mark.parametrize("part", range(TEXT_PARTS))
def test_any_instant_is_read_or_refused_with_a_next_step(part, record_property):
    chance = Random(part)
    record_property("texts read as instants", TEXTS // TEXT_PARTS)
    for _ in range(TEXTS // TEXT_PARTS):
        text = any_instant(chance)
        found = outcome(partial(parse_instant, text, field="runAt"))
        if isinstance(found, InvalidInstant):
            assert found.field == "runAt", text
        else:
            assert isinstance(found, int), text
            assert parse_instant(format_instant(found), field="runAt") == found, text


@pytest.mark.parametrize("part", range(TEXT_PARTS))
def test_any_zone_is_known_or_refused_and_opens_no_file(part, record_property):
    chance = Random(part)
    record_property("texts read as zones", TEXTS // TEXT_PARTS)
    for _ in range(TEXTS // TEXT_PARTS):
        name = any_zone(chance)
        found = outcome(partial(zone_named, name))
        assert isinstance(found, InvalidTimezone) == (name not in known_zones()), name


@pytest.mark.parametrize("part", range(TEXT_PARTS))
def test_any_text_is_a_schedule_or_is_refused_with_a_next_step(part, record_property):
    chance = Random(part)
    record_property("texts read as schedules", TEXTS // TEXT_PARTS)
    for _ in range(TEXTS // TEXT_PARTS):
        text = any_schedule(chance)
        found = outcome(partial(read_schedule, text, TERMS))
        if isinstance(found, Invalid):
            assert found.field == "schedule", text
        elif isinstance(found, Cron | Every | Repeat):
            dues = first_two(text)
            assert dues == sorted(set(dues)), text
        else:
            assert isinstance(found, Once | FixedDelay), text


@pytest.mark.parametrize("part", range(TEXT_PARTS))
def test_any_preview_is_made_or_refused_with_a_next_step(part, record_property):
    chance = Random(part)
    record_property("texts read as previews", TEXTS // TEXT_PARTS)
    made = 0
    for _ in range(TEXTS // TEXT_PARTS):
        body = json.dumps(any_request(chance)).encode("utf-8", "surrogatepass")
        found = outcome(partial(previewed, body))
        assert isinstance(found, PreviewOut | Invalid), body
        made += isinstance(found, PreviewOut)
    assert made > TEXTS // TEXT_PARTS // 40


@pytest.mark.parametrize("part", range(TEXT_PARTS))
def test_no_text_makes_anybody_work_without_end(part, record_property):
    chance = Random(part)
    record_property("texts whose steps were counted", TEXTS // TEXT_PARTS // 10 * 2)
    for _ in range(TEXTS // TEXT_PARTS // 10):  # counting takes several times as long as reading
        text = any_schedule(chance)
        assert steps_of(partial(first_two, text)) < STEPS_MAX, text
        body = json.dumps(any_request(chance)).encode("utf-8", "surrogatepass")
        assert steps_of(partial(previewed, body)) < STEPS_MAX, body
