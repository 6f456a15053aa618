"""Schedules in plain English, read strictly: 'every weekday at 9am', 'tomorrow at 10:00'.

A sentence is a row of phrases, each known by its first word. Words are taken from left to right,
with a look at the next ones; nothing is tried twice. `english_said` decides what they come to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from onthedot.core.instants import DAY, HOUR, MINUTE, SECOND, parse_instant
from onthedot.core.schedules import english_words as words
from onthedot.core.schedules.cron import Cron
from onthedot.core.schedules.cron_fields import YEAR_MAX, YEAR_MIN
from onthedot.core.schedules.english_cursor import THROUGH, NotEnglish
from onthedot.core.schedules.english_days import DayPhrases
from onthedot.core.schedules.english_schedule import Unspecified, schedule_of
from onthedot.core.schedules.english_words import Token
from onthedot.core.schedules.every import Every
from onthedot.core.schedules.moments import at_wall, today
from onthedot.core.schedules.once import Once
from onthedot.core.schedules.repeat import Repeat
from onthedot.core.schedules.terms import Terms
from onthedot.errors import InvalidDuration, InvalidInstant

_UNITS_US: Final = {
    "second": SECOND,
    "minute": MINUTE,
    "hour": HOUR,
    "day": DAY,
    "week": 7 * DAY,
}


_OF_A_DAY = ("second", "minute", "hour")


def read_english(text: str, terms: Terms) -> Cron | Every | Repeat | Once:
    """Raises NotEnglish. At the end the zone may stand in brackets, as in our own sentences."""
    sentence, zone = _without_zone(text)
    if zone is not None and zone != terms.timezone:
        position = text.rindex("(") + 2
        raise NotEnglish(position, f"is in {zone}, and the time zone is {terms.timezone}")
    reader = EnglishReader(words.tokens_of(sentence), terms)
    reader.said.on_a_clock = zone is not None
    try:
        reader.read()
        return schedule_of(reader.said, terms)
    except Unspecified as missing:
        raise NotEnglish(len(sentence.rstrip()) + 1, missing.why, missing.add) from None
    except InvalidDuration as error:
        raise NotEnglish(1, error.message) from None


def _without_zone(text: str) -> tuple[str, str | None]:
    begin = text.rfind("(")
    if begin < 0 or not text.endswith(")"):
        return text, None
    return text[:begin].rstrip(), text[begin + 1 : -1]


class EnglishReader(DayPhrases):
    """Goes through the tokens once, and fills `said`."""

    def __init__(self, tokens: list[Token], terms: Terms) -> None:
        super().__init__(tokens)
        self._terms = terms
        self._phrases: dict[str, Callable[[], None]] = {
            "at": self._at_times,
            "every": self._every,
            "each": self._every,
            "on": self._on,
            "in": self._in,
            "of": self._of,
            "between": self._window,
            "from": self._from,
            "counted": self._counted_from,
            "if": self._if,
            "tomorrow": self._tomorrow,
            "today": self._today,
            "next": self._next_weekday,
            "daily": self._daily,
            "hourly": self._hourly,
            "weekly": lambda: self._adverb("week"),
            "monthly": lambda: self._adverb("month"),
            "yearly": lambda: self._adverb("year"),
            "once": self._once,
            "weekdays": self._days_of_week,
            "weekends": self._days_of_week,
        }

    def read(self) -> None:
        if not self._tokens:
            raise NotEnglish(1, "is empty")
        # Bounded: every turn takes at least one token.
        while self._at < len(self._tokens):
            token = self._take()
            self._joined = token.text == "and"
            if token.text in ("and", ",") and self._at > 1:
                if token.text == "," and self._word() == "and":
                    self._joined = True
                    self._take()
                token = self._take()
                if words.number(token.text) is not None and self._word() == "times":
                    self._take()
                    self.said.repetitions = words.number(token.text)
                    continue
            phrase = self._phrases.get(token.text)
            if phrase is None:
                raise self._refuse(token)
            phrase()

    # --- phrases of time ---

    def _at_times(self) -> None:
        if self._joined and (self.said.times or self.said.every or self.said.minutes):
            self.said.begin_again()
        if self._word() == "the" and self._word(1) == "start":
            self._at += 2
            self.said.minutes = {0}
        elif self._word() in ("minute", "minutes"):
            self._take()
            self.said.minutes = self._numbers(0, 59, THROUGH)
        elif self._word() in ("second", "seconds"):
            self._take()
            self.said.seconds = self._numbers(0, 59, THROUGH)
        else:
            self.said.times.append(self._time())
            while self._goes_on(self._is_time):
                self.said.times.append(self._time())

    def _every(self) -> None:
        word = self._word()
        is_amount = words.number(word) is not None or words.unit(word) in _OF_A_DAY
        again = self.said.every and is_amount
        if self._joined and (again or self.said.times or self.said.minutes or self.said.seconds):
            self.said.begin_again()
        if words.weekday(word) is not None or word in ("weekday", "weekend"):
            self._weekday_list()
        elif words.month(word) is not None:
            self._month_list()
        elif word == "last" or (words.ordinal(word) is not None and word != "second"):
            self._on_items()
        else:
            self._interval()

    def _interval(self) -> None:
        self._refuse_second()
        amount = 1
        if self._take_if("other"):
            amount = 2
        elif words.number(self._word()) is not None:
            amount = self._number(1, 999_999)
        token = self._take()
        unit = words.unit(token.text)
        if unit is None:
            raise self._refuse(token, "where a unit such as minutes, hours or days should stand")
        self.said.every.append((amount, unit))
        while self._word() == "and" and words.number(self._word(1)) is not None:
            if words.unit(self._word(2)) is None:
                break
            self._take()
            self.said.every.append((self._number(1, 999_999), words.unit(self._take().text) or ""))

    def _refuse_second(self) -> None:
        if self.said.every:
            position = self._tokens[self._at - 1].position
            raise NotEnglish(position, "says twice how often")

    def _adverb(self, unit: str) -> None:
        self._refuse_second()
        self.said.every.append((1, unit))

    def _daily(self) -> None:
        self._adverb("day")

    def _hourly(self) -> None:
        self._adverb("hour")

    def _window(self) -> None:
        self.said.window = self._time(), 0
        self._expect("and", "to")
        self.said.window = self.said.window[0], self._time()

    def _from(self) -> None:
        if self._is_time(0):
            first = self._time()
            self._expect("to", "until")
            self.said.window = first, self._time()
            return
        self._start()

    def _counted_from(self) -> None:
        self._expect("from")
        self._start()
        self.said.is_due_at_start = False

    def _start(self) -> None:
        token = self._take()
        day = words.day_of(token.text)
        if day is None:
            self.said.counted_from = self._instant(token)
            return
        self._take_if("at")
        self.said.counted_from = at_wall(day, self._time(), self._terms.timezone)
        if self.said.counted_from is None:
            raise self._refuse(token, "which the calendar does not have")

    def _instant(self, token: Token) -> int:
        try:
            return parse_instant(token.text.upper(), field="schedule")
        except InvalidInstant:
            raise self._refuse(token, "where a date or an instant should stand") from None

    # --- phrases of one instant ---

    def _tomorrow(self) -> None:
        self.said.once_on = today(self._terms.now, self._terms.timezone) + 1

    def _today(self) -> None:
        self.said.once_on = today(self._terms.now, self._terms.timezone)

    def _next_weekday(self) -> None:
        token = self._take()
        wanted = words.weekday(token.text)
        if wanted is None:
            raise self._refuse(token, "where a day of the week should stand")
        day = today(self._terms.now, self._terms.timezone)
        # The epoch was a Thursday. Today is not the next one of its name.
        self.said.once_on = day + 1 + (wanted - (day + 5)) % 7

    def _once(self) -> None:
        if self._tokens[self._at - 2].text == "," and self._at > 1:
            self.said.repetitions = 1
            return
        self._take_if("at", "on")
        token = self._take()
        day = words.day_of(token.text)
        if day is None:
            self.said.instant = self._instant(token)
        else:
            self.said.once_on = day

    def _in(self) -> None:
        if words.unit(self._word(1)) is not None:
            return self._delay()
        if self._word() == "every":
            return self._every_year()
        if words.number(self._word()) is not None:
            self.said.years = self._numbers(YEAR_MIN, YEAR_MAX, THROUGH)
            return None
        return self._month_list()

    def _delay(self) -> None:
        total = 0
        while True:  # each turn takes an amount and a unit
            amount = 1 if self._take_if("a", "an") else self._number(1, 999_999)
            token = self._take()
            size = _UNITS_US.get(words.unit(token.text) or "")
            if size is None:
                raise self._refuse(token, "where seconds, minutes, hours, days or weeks may stand")
            total += amount * size
            if not self._goes_on(lambda ahead: words.unit(self._word(ahead + 1)) is not None):
                break
        self.said.delay = total

    def _every_year(self) -> None:
        self._take()
        step = self._ordinal(YEAR_MAX - YEAR_MIN)
        self._expect("year")
        self._expect("from")
        first, last = self._number(YEAR_MIN, YEAR_MAX), YEAR_MAX
        if self._take_if("until"):
            last = self._number(first, YEAR_MAX)
        self.said.years = set(range(first, last + 1, step))
