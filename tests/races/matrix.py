"""One row of the matrix: one verb held open in one world, and every other that runs into it."""

from __future__ import annotations

from typing import Any

from tests.races.judge import faults
from tests.races.stage import Stage
from tests.races.verbs import VERBS, Verb

SECONDS = tuple(verb for verb in VERBS if verb.nth == 1)
"""Verbs that differ only in which of their transactions is held are the same as seconds."""

_alone: dict[tuple[str, str], Any] = {}


async def row_of_the_matrix(stage: Stage, first: Verb, *, rolling_back: bool = True) -> list[str]:
    """All faults that were found.

    Rolled back too is what the second has noticed: by waiting, or by passing over what was locked.
    Otherwise it was done before the end and cannot know which one it was.
    """
    found: list[str] = []
    await stage.sweep()
    for second in SECONDS:
        alone = await _answer_alone(stage, second)
        race = await stage.race(first, second, "commit")
        found += faults(race, alone)
        if rolling_back and (race.waited or second.passes_over):
            found += faults(await stage.race(first, second, "roll back"), alone)
    return found


async def _answer_alone(stage: Stage, second: Verb) -> Any:
    """The same for every row of a world, so it is asked once."""
    asked = (stage.world.name, second.name)
    if asked not in _alone:
        _alone[asked] = await stage.alone(second)
    return _alone[asked]
