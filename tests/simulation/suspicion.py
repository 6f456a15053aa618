"""Who is a suspect, as far as the outside can tell: runners that died, and who was in them."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from onthedot.core.killers import ASKED_S, Killers
from tests.simulation.books import FOREVER, Books
from tests.simulation.history import Effect, History
from tests.simulation.oracle import SECOND

UNHEARD = SECOND // 1_000
"""So long a runner may have been gone before its worker hears of it."""

BETWEEN_TRIALS = SECOND // 2
"""A new runner for the next suspect is there within this, once its worker has looked for the next
run: without hints it looks once a second."""

ASKED = round(ASKED_S * SECOND)


Event = tuple[int, str, Callable[[], object]]


class Known(NamedTuple):
    """From this moment on: which functions are called alone, and since when something was seen that
    led to that; which of them do not end.
    """

    at: int
    apart: dict[str, int]
    stuck: frozenset[str]


class Suspicion:
    """What the product calls a killer, worked out from what the outside saw: the definition is the
    product's own, what happened to each runner is not taken from it.
    """

    def __init__(self, books: Books) -> None:
        self._books = books
        self._history = books.history
        self._between = BETWEEN_TRIALS + (0 if self._history.hears else SECOND)
        self._crowds = Counter(effect.runner for effect in self._history.effects)
        self._known = {
            process: list(self._learnt(effects))
            for process, effects in _by_process(self._history).items()
        }

    def is_alone(self, effect: Effect) -> bool:
        return effect.runner is not None and self._crowds[effect.runner] == 1

    def excuses(self, late: Effect, since: int) -> bool:
        """Whether it had to wait for its turn: suspects are called one at a time, and without a
        pause, each alone in a new runner. It was one if it was called into a runner that died
        before it heard of that, or if its function kills its runners. When that is trusted again
        the turn of all its calls has come. Of a function that does not end two are called at a
        time, and the others wait for as long as that takes.
        """
        called = late.started_at - (late.started - since)
        alone = self.is_alone(late)
        if self.kills(late, called):
            if self._is_stuck(late, called):
                return alone or not self.kills(late, late.started_at)
            if not alone and self.kills(late, late.started_at):
                return False
            return late.started_at <= self._busy_until(late, called) + self._between
        soon = called + round(self._history.prompt_s * SECOND)
        died = [at for at in self._deaths(late.process) if called - UNHEARD <= at <= soon]
        if not alone or not died:
            return False
        return late.started_at <= self._busy_until(late, max(died)) + self._between

    def _busy_until(self, late: Effect, since: int) -> int:
        """How long others were called alone before it, one after the other."""
        busy_until = since
        for trial in self._history.effects:
            if trial.process != late.process or trial.started_at >= late.started_at:
                continue
            if self.is_alone(trial) and trial.started_at <= busy_until + self._between:
                busy_until = max(busy_until, trial.ended_at or FOREVER)
        return busy_until

    def kills(self, effect: Effect, at: int) -> bool:
        """Whether the process of this start knew its function as a killer at that moment."""
        return self.kills_since(effect, at) is not None

    def kills_since(self, effect: Effect, at: int) -> int | None:
        """The first thing that it must have seen to know so then; None: it is no killer then."""
        return self._state(effect.process, at).apart.get(effect.function or "")

    def _is_stuck(self, effect: Effect, at: int) -> bool:
        return effect.function in self._state(effect.process, at).stuck

    def _state(self, process: str, at: int) -> Known:
        known = self._known.get(process, [])
        place = bisect_right(known, at - UNHEARD, key=lambda each: each.at)
        return known[place - 1] if place else Known(0, {}, frozenset())

    # What the worker must have seen

    def _learnt(self, effects: list[Effect]) -> Iterator[Known]:
        """What is known of the functions of a process, from each moment on that changes it."""
        killers = Killers()
        first: dict[str, int] = {}
        events = [event for effect in effects for event in self._events(killers, effect)]
        for at, function, tell in sorted(events, key=lambda event: event[0]):
            tell()
            if function in killers._records:
                first.setdefault(function, at)
            else:
                first.pop(function, None)
            apart = {each: first[each] for each in killers.apart}
            yield Known(at, apart, frozenset(killers.stuck))

    def _events(self, killers: Killers, effect: Effect) -> Iterator[Event]:
        function = effect.function
        assert function is not None
        if effect.asked_at is not None:
            if (effect.ended_at or FOREVER) >= effect.asked_at + ASKED:
                yield effect.asked_at + ASKED, function, partial(killers.killed, function)
        elif effect.ended_at is not None and ended_with_its_runner(self._history, effect):
            yield effect.ended_at, function, partial(self._died, killers, effect)
        elif effect.ended_at is not None and effect.end != "stopped":
            yield effect.ended_at, function, partial(killers.ended, function)

    def _died(self, killers: Killers, effect: Effect) -> None:
        assert effect.function is not None
        if not self.is_alone(effect) or self._may_start_once(effect):
            return
        if effect.runner in self._history.runner_kills or not self._died_again(effect):
            if effect.function in killers.stuck:  # it had a process of its own
                killers.killed(effect.function)
        else:
            killers.crashed(effect.function)

    def _may_start_once(self, effect: Effect) -> bool:
        book = self._books.jobs.get(effect.job_id)
        return book is not None and book.first["guarantee"] == "at_most_once"

    def _died_again(self, effect: Effect) -> bool:
        return any(
            (each.run_id, each.attempt, each.process)
            == (effect.run_id, effect.attempt, effect.process)
            and each.started_at < effect.started_at
            and ended_with_its_runner(self._history, each)
            for each in self._history.effects
        )

    def _deaths(self, process: str) -> list[int]:
        deaths = self._history.runner_deaths.items()
        return [at for name, at in deaths if name.rpartition(".")[0] == process]


def _by_process(history: History) -> dict[str, list[Effect]]:
    found: dict[str, list[Effect]] = defaultdict(list)
    for effect in history.effects:
        if effect.function is not None:
            found[effect.process].append(effect)
    return found


def ended_with_its_runner(history: History, effect: Effect) -> bool:
    return effect.runner is not None and (
        history.runner_deaths.get(effect.runner) == effect.ended_at
    )
