"""The known words that are most like another are those that difflib finds, only sooner."""

from difflib import get_close_matches
from random import Random

import pytest

from onthedot.core.closest import KnownWords
from onthedot.core.schedules.english_near import FORMS
from onthedot.core.schedules.zones import known_zones

ZONES = sorted(known_zones())


@pytest.mark.parametrize(
    ("words", "count", "cutoff"),
    [(ZONES, 3, 0.7), (ZONES[::9], 5, 0.0), (FORMS, 1, 0.0), (FORMS, 2, 0.6), ((), 1, 0.5)],
    ids=["zones", "every ninth zone", "forms", "two forms", "no words"],
)
def test_the_nearest_are_those_that_difflib_finds(words, count, cutoff):
    known = KnownWords(words)
    chance = Random(4711)

    for _ in range(60):
        text = list(chance.choice([*ZONES, *FORMS]))
        for _ in range(chance.randint(0, 5)):
            text[chance.randrange(len(text))] = chance.choice(["", "ü", "aa", *text])
        asked = "".join(text) * chance.choice([1, 1, 1, 7])
        assert known.most_like(asked, count, cutoff=cutoff) == get_close_matches(
            asked, words, n=count, cutoff=cutoff
        ), asked


def test_nothing_is_like_an_empty_text():
    assert KnownWords(["UTC"]).most_like("", 1, cutoff=0.1) == []
