"""Sets a world up, lets a script play in it, and has the checker judge what the outside saw."""

from __future__ import annotations

import gc
import logging
import re
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from onthedot.roles.loop import Loop
from tests.simulation import api
from tests.simulation.checker import violations
from tests.simulation.history import History
from tests.simulation.line import Faults
from tests.simulation.loop import SimulatedLoop, Stuck
from tests.simulation.world import World

# What the product says of itself only when it has made a mistake.
MISTAKES = re.compile(
    r"^(loop\.failed .*where=[^\" ]|api\.failed|runner\.failed|run\.unrecordable|run\.given_up"
    r"|clock\.set_aside|clock\.cannot_set_aside)"
)


@dataclass(slots=True)
class Report:
    """What a play came to. `story` is all that happened, `history` what the outside saw of it,
    `faults` how often something befell a process.
    """

    seed: int | str
    kinds: tuple[str, ...]
    violations: list[str]
    digest: str
    story: list[str] = field(repr=False)
    history: History = field(repr=False)
    virtual_s: float = 0.0
    starts: int = 0
    faults: int = 0
    turns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Where a play takes place. `deaf`: no loop hears any hint, not even of its own process."""

    start: int
    faults: Faults
    kinds: tuple[str, ...] = ()
    hints_lost: float = 0.0
    deaf: bool = False


def perform(
    seed: int | str, setting: Setting, script: Callable[[World], Coroutine[Any, Any, None]]
) -> Report:
    loop = SimulatedLoop()
    world = World(seed, loop, start=setting.start)
    world.hints_lost = setting.hints_lost
    world.faults = setting.faults
    with _uncollected(), _logged(world), _deaf(setting.deaf):
        try:
            loop.run_until_complete(script(world))
        except Stuck as stuck:
            world.broken(f"stuck: {stuck}")
        for accident in (*loop.accidents, *loop.unheard()):
            world.broken(f"accident: {accident}")
        world.history.kept = world.kept()
        report = Report(
            seed=seed,
            kinds=setting.kinds,
            violations=violations(world.history),
            digest=world.digest(),
            story=list(world.story),
            history=world.history,
            virtual_s=loop.time(),
            starts=len(world.history.effects),
            faults=len(world.history.troubles),
            turns=loop.turns,
        )
        api.hang_up_all()
        loop.bring_down()
        world.close()
    return report


@contextmanager
def _uncollected() -> Iterator[None]:
    """A cycle that is collected now or later must not change anything."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class _Ear(logging.Handler):
    """Brings what the product logs into the story, and its mistakes into the verdict."""

    def __init__(self, world: World) -> None:
        super().__init__(logging.INFO)
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        self._world.note("log", text.partition("\n")[0])
        if MISTAKES.match(text):
            self._world.broken(text[:400])


@contextmanager
def _logged(world: World) -> Iterator[None]:
    logger = logging.getLogger("onthedot")
    level, propagate = logger.level, logger.propagate
    ear = _Ear(world)
    logger.addHandler(ear)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(ear)
        logger.setLevel(level)
        logger.propagate = propagate


def _hears_nothing(self: Loop) -> None:
    return


@contextmanager
def _deaf(on: bool) -> Iterator[None]:
    hears = Loop.nudge
    if on:
        Loop.nudge = _hears_nothing  # type: ignore[method-assign]
    try:
        yield
    finally:
        Loop.nudge = hears  # type: ignore[method-assign]
