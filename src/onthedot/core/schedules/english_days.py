"""The phrases of days and months: 'on the last friday', 'of january, july', 'if it is a monday'."""

from __future__ import annotations

from onthedot.core.schedules import english_words as words
from onthedot.core.schedules.cron_fields import LAST
from onthedot.core.schedules.english_cursor import THROUGH, Cursor, NotEnglish


class DayPhrases(Cursor):
    """What may be said of days, months and years."""

    def _on(self) -> None:
        day = words.day_of(self._word())
        if day is not None:
            self._take()
            self.said.once_on = day
            return
        other = self.said.names_days and not self._joined
        if other:
            token = self._tokens[self._at - 1]
            raise NotEnglish(token.position, "names days twice; join them with 'and' or with 'if'")
        self._on_items()

    def _on_items(self) -> None:
        self._on_item()
        while self._goes_on(self._is_day):
            self._on_item()

    def _is_day(self, ahead: int) -> bool:
        word, following = self._word(ahead), self._word(ahead + 1)
        if word == "the":
            return following != "start"
        if word == "every":
            return words.ordinal(following) is not None
        names = words.weekday(word) is not None or words.month(word) is not None
        return names or words.ordinal(word) is not None or word in ("weekdays", "weekends")

    def _on_item(self) -> None:
        the = self._take_if("the", "a", "an")
        word, following = self._word(), self._word(1)
        nearest = the and word == "weekday" and following == "nearest"
        named = word in ("weekday", "weekdays", "weekend", "weekends")
        if words.weekday(word) is not None or (named and not nearest):
            self._weekday_range()
        elif nearest:
            self._at += 2
            self._expect("to")
            self._expect("the")
            self.said.nearest = self._ordinal(31)
        elif word == "every":
            self._every_nth_day()
        elif words.month(word) is not None:
            self._month_and_day()
        elif words.number(word) is not None and words.month(following) is not None:
            self.said.days.add(self._number(1, 31))
            self.said.months.add(words.month(self._take().text) or 0)
        else:
            self._which()

    def _which(self) -> None:
        """The last day, the first Monday, the 15th."""
        which = LAST if self._take_if("last") else self._ordinal(31)
        day = words.weekday(self._word())
        if day is not None:
            if which > 5:
                raise self._refuse(self._tokens[self._at], "of which a month has at most five")
            self._take()
            self.said.nth.add((day, which))
        elif which == LAST:
            token = self._take()
            if token.text not in ("day", "weekday"):
                raise self._refuse(
                    token, "where 'day', 'weekday' or a day of the week should stand"
                )
            self.said.last_day |= token.text == "day"
            self.said.last_weekday |= token.text == "weekday"
        else:
            last = which
            if self._word() in THROUGH and words.ordinal(self._word(1)) is not None:
                self._take()
                last = self._ordinal(31)
            self.said.days.update(range(which, last + 1))
            self._take_if("day", "days")

    def _every_nth_day(self) -> None:
        self._take()
        step = self._ordinal(31)
        for text in ("day", "from", "the"):
            self._expect(text)
        self.said.days.update(range(self._ordinal(31), 32, step))

    def _month_and_day(self) -> None:
        self.said.months.add(words.month(self._take().text) or 0)
        self._take_if("the")
        if words.number(self._word()) is not None:
            self.said.days.add(self._number(1, 31))
        else:
            self.said.days.add(self._ordinal(31))

    def _days_of_week(self) -> None:
        self._at -= 1
        self._weekday_list()

    def _weekday_list(self) -> None:
        self._weekday_range()
        while self._goes_on(self._is_weekday):
            self._weekday_range()

    def _is_weekday(self, ahead: int) -> bool:
        return words.weekday(self._word(ahead)) is not None

    def _weekday_range(self) -> None:
        token = self._take()
        if token.text in ("weekday", "weekdays"):
            self.said.weekdays.update(range(1, 6))
            return
        if token.text in ("weekend", "weekends"):
            self._take_if("day", "days")
            self.said.weekdays.update((6, 0))
            return
        first = words.weekday(token.text)
        assert first is not None, token
        last = first
        if self._word() in THROUGH and words.weekday(self._word(1)) is not None:
            self._take()
            last = words.weekday(self._take().text) or 0
        self.said.weekdays.update((first + k) % 7 for k in range((last - first) % 7 + 1))

    def _if(self) -> None:
        """If it is a Friday or the last Monday."""
        if not self.said.names_days or self.said.names_weekdays:
            raise self._refuse(self._tokens[self._at - 1], "without days of the month before it")
        self._expect("it")
        self._expect("is")
        self._if_item()
        while self._goes_on(lambda ahead: self._word(ahead) in ("a", "an", "the")):
            self._if_item()
        self.said.both = True

    def _if_item(self) -> None:
        self._expect("a", "an", "the")
        if self._tokens[self._at - 1].text == "the":
            self._which()
        else:
            self._weekday_range()

    # --- of what ---

    def _of(self) -> None:
        word, following = self._word(), self._word(1)
        if (word in ("every", "each") and following in ("month", "hour", "minute")) or (
            word == "the" and following == "month"
        ):
            self._at += 2
        elif word == "every":
            self._every_nth()
        elif word == "the" and following == "hours":
            self._at += 2
            self.said.hours = self._numbers(0, 23, THROUGH)
        elif word in ("minute", "minutes"):
            self._take()
            self.said.minutes = self._numbers(0, 59, THROUGH)
        else:
            self._month_list()

    def _every_nth(self) -> None:
        """Of every 2nd hour, of every 15th minute."""
        self._take()
        step = self._ordinal(59)
        token = self._take()
        if token.text == "hour":
            self.said.hours = set(range(0, 24, step))
        elif token.text == "minute":
            self.said.minutes = set(range(0, 60, step))
        else:
            raise self._refuse(token, "where 'hour' or 'minute' should stand")

    def _month_list(self) -> None:
        self._month_range()
        while self._goes_on(lambda ahead: words.month(self._word(ahead)) is not None):
            self._month_range()

    def _month_range(self) -> None:
        token = self._take()
        first = last = words.month(token.text)
        if first is None:
            raise self._refuse(token, "where a month should stand")
        if self._word() in THROUGH and words.month(self._word(1)) is not None:
            self._take()
            last = words.month(self._take().text)
        assert last is not None
        self.said.months.update((first - 1 + k) % 12 + 1 for k in range((last - first) % 12 + 1))
