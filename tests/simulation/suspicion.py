"""Who is a suspect, as far as the outside can tell: runners that died, and who was in them."""

from __future__ import annotations

from collections import Counter

from tests.simulation.books import FOREVER
from tests.simulation.history import Effect, History
from tests.simulation.oracle import SECOND

UNHEARD = SECOND // 1_000
"""So long a runner may have been gone before its worker hears of it."""

BETWEEN_TRIALS = SECOND // 2
"""A new runner for the next suspect is there within this."""


class Suspicion:
    def __init__(self, history: History) -> None:
        self._history = history
        self._crowds = Counter(effect.runner for effect in history.effects)

    def is_alone(self, effect: Effect) -> bool:
        return effect.runner is not None and self._crowds[effect.runner] == 1

    def excuses(self, late: Effect, since: int) -> bool:
        """Whether it had to wait for its turn: suspects are called one at a time, and without a
        pause, each alone in a new runner. It was one if it was called into a runner that died
        before it heard of that, or if its function kills its runners. When that has ended by itself
        the turn of all its calls has come.
        """
        called = late.started_at - (late.started - since)
        alone = self.is_alone(late)
        if self.kills(late, called):
            if not alone and self.kills(late, late.started_at):
                return False
            return late.started_at <= self._busy_until(late, called) + BETWEEN_TRIALS
        soon = called + round(self._history.prompt_s * SECOND)
        died = [at for at in self._deaths(late.process) if called - UNHEARD <= at <= soon]
        if not alone or not died:
            return False
        return late.started_at <= self._busy_until(late, max(died)) + BETWEEN_TRIALS

    def _busy_until(self, late: Effect, since: int) -> int:
        """How long others were called alone before it, one after the other."""
        busy_until = since
        for trial in self._history.effects:
            if trial.process != late.process or trial.started_at >= late.started_at:
                continue
            if self.is_alone(trial) and trial.started_at <= busy_until + BETWEEN_TRIALS:
                busy_until = max(busy_until, trial.ended_at or FOREVER)
        return busy_until

    def kills(self, effect: Effect, at: int) -> bool:
        """Whether the process of this start had seen its function kill a runner in which it was
        called again, alone, and no call of it since that ended by itself.
        """
        last = (0, False)
        for each in self._history.effects:
            if (each.function, each.process) != (effect.function, effect.process):
                continue
            if each.ended_at is not None and each.ended_at + UNHEARD <= at:
                killed = self.is_alone(each) and self._died_again(each)
                if killed or each.end != "stopped":
                    last = max(last, (each.ended_at, killed))
        return effect.function is not None and last[1]

    def _died_again(self, effect: Effect) -> bool:
        return ended_with_its_runner(self._history, effect) and any(
            (each.run_id, each.attempt, each.process)
            == (effect.run_id, effect.attempt, effect.process)
            and each.started_at < effect.started_at
            and ended_with_its_runner(self._history, each)
            for each in self._history.effects
        )

    def _deaths(self, process: str) -> list[int]:
        deaths = self._history.runner_deaths.items()
        return [at for name, at in deaths if name.rpartition(".")[0] == process]


def ended_with_its_runner(history: History, effect: Effect) -> bool:
    return effect.runner is not None and (
        history.runner_deaths.get(effect.runner) == effect.ended_at
    )
