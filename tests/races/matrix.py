"""One row of the matrix: one verb held open in one world, and every other that runs into it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.races.judge import faults
from tests.races.stage import Ending, Stage
from tests.races.verbs import VERBS, Verb
from tests.races.world import World

ENDINGS: tuple[Ending, ...] = ("commit", "roll back")
SECONDS = tuple(verb for verb in VERBS if verb.nth == 1)
"""Verbs that differ only in which of their transactions is held are the same as seconds."""

_alone: dict[tuple[str, str], Any] = {}


async def row_of_the_matrix(
    url: str, world: World, first: Verb, endings: Sequence[Ending] = ENDINGS
) -> list[str]:
    """All faults that were found."""
    found: list[str] = []
    async with Stage.of(world, url) as stage:
        for second in SECONDS:
            alone = await _answer_alone(stage, second)
            for ending in endings:
                found += faults(await stage.race(first, second, ending), alone)
    return found


async def _answer_alone(stage: Stage, second: Verb) -> Any:
    """The same for every row of a world, so it is asked once."""
    asked = (stage.world.name, second.name)
    if asked not in _alone:
        _alone[asked] = await stage.alone(second)
    return _alone[asked]
