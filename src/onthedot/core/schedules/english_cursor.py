"""The place in a sentence, and the values that may stand there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from onthedot.core.schedules import english_words as words
from onthedot.core.schedules.english_schedule import SentenceParts
from onthedot.core.schedules.english_words import Token

THROUGH: Final = ("through", "to", "-")


class NotEnglish(Exception):
    """Where and why a sentence is not understood. `add`: what would complete it."""

    def __init__(self, position: int, why: str, add: str = "") -> None:
        super().__init__(why)
        self.position = position
        self.why = why
        self.add = add


class Cursor:
    """Takes tokens one by one. `joined`: the phrase at hand came after 'and'."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._joined = False
        self.said = SentenceParts()

    # --- tokens ---

    def _take(self) -> Token:
        if self._at >= len(self._tokens):
            last = self._tokens[-1]
            raise NotEnglish(last.position + len(last.text), "ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def _word(self, ahead: int = 0) -> str:
        """The text of a coming token, without taking it; empty at the end."""
        place = self._at + ahead
        return self._tokens[place].text if place < len(self._tokens) else ""

    def _take_if(self, *texts: str) -> bool:
        if self._word() in texts and self._word():
            self._at += 1
            return True
        return False

    def _expect(self, *texts: str) -> None:
        token = self._take()
        if token.text not in texts:
            raise self._refuse(token, f"where {texts[0]!r} should stand")

    def _refuse(self, token: Token, why: str = "") -> NotEnglish:
        said = f"has {token.text!r}, which is not understood" if not why else ""
        return NotEnglish(token.position, said or f"has {token.text!r} {why}")

    def _goes_on(self, is_item: Callable[[int], bool]) -> bool:
        """Takes the comma and the 'and' before another item of a list, if one follows."""
        ahead = 1 if self._word() in (",", "and", "or") else 0
        if self._word() == "," and self._word(1) in ("and", "or"):
            ahead = 2
        if not ahead or not is_item(ahead):
            return False
        self._at += ahead
        return True

    # --- values ---

    def _time(self) -> int:
        token = self._take()
        found = words.time_of_day(token.text, self._word())
        if found is None:
            raise self._refuse(token, "where a time such as 9:00 or 9am should stand")
        self._at += found[1] - 1
        return found[0]

    def _is_time(self, ahead: int) -> bool:
        return words.time_of_day(self._word(ahead), self._word(ahead + 1)) is not None

    def _numbers(self, low: int, high: int, through: tuple[str, ...]) -> set[int]:
        """A list of numbers and ranges: 5, 10 and 20 to 30."""
        found: set[int] = set()
        while True:  # ends with the list: each turn takes a number
            first = last = self._number(low, high)
            if self._word() in through and words.number(self._word(1)) is not None:
                self._take()
                last = self._number(first, high)
            found.update(range(first, last + 1))
            if not self._goes_on(lambda ahead: words.number(self._word(ahead)) is not None):
                return found

    def _number(self, low: int, high: int) -> int:
        token = self._take()
        value = words.number(token.text)
        if value is None or not low <= value <= high:
            raise self._refuse(token, f"where a number from {low} to {high} should stand")
        return value

    def _ordinal(self, high: int) -> int:
        token = self._take()
        value = words.ordinal(token.text)
        if value is None or not 1 <= value <= high:
            raise self._refuse(token, f"where one of 1st to {high}th should stand")
        return value
