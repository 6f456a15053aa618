"""Which known words are most like one that is not known: for hints that say what may be meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from difflib import SequenceMatcher


class KnownWords:
    """Words to choose from, made ready: most of them are ruled out by their letters alone.

    The letters of a word are one number with a bit for each letter, and another for the letter's
    second time, so that the letters two words share are counted in one go. No closest is greater
    than that, and only words that may still be the nearest are looked at more closely.
    """

    __slots__ = ("_bits", "_words")

    def __init__(self, words: Iterable[str]) -> None:
        self._bits: dict[tuple[str, int], int] = {}
        self._words: list[tuple[str, int, int]] = []
        for word in dict.fromkeys(words):
            for letter, times in Counter(word).items():
                for time in range(times):
                    self._bits.setdefault((letter, time), 1 << len(self._bits))
            self._words.append((word, len(word), self._letters(word)))

    def most_like(self, text: str, count: int, *, cutoff: float) -> list[str]:
        """At most `count`, the nearest first; none that is less like it than `cutoff`, of 1."""
        letters, length = self._letters(text), len(text)
        most = [
            (2 * shared / (length + size), word)
            for word, size, known in self._words
            if 2 * (shared := (letters & known).bit_count()) >= cutoff * (length + size)
        ]
        matcher = SequenceMatcher()
        matcher.set_seq2(text)  # what the matcher keeps belongs to the second of the two
        best: list[tuple[float, str]] = []
        for bound, word in sorted(most, reverse=True):
            if len(best) == count and bound < best[-1][0]:
                break
            matcher.set_seq1(word)
            closest = matcher.ratio()
            if closest >= cutoff:
                best = sorted([*best, (closest, word)], reverse=True)[:count]
        return [word for _, word in best]

    def _letters(self, text: str) -> int:
        seen: Counter[str] = Counter()
        letters = 0
        for letter in text:
            letters |= self._bits.get((letter, seen[letter]), 0)
            seen[letter] += 1
        return letters
