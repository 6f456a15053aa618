"""Long work in slices, so that nothing keeps the event loop for longer than a few milliseconds.

Slices of all that goes on at once are taken in turn, one in each pass of the loop: many long
requests together delay others by no more than one of them does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Final, TypeVar
from weakref import WeakKeyDictionary

from onthedot.core.effort import SLICE, charge, spent

T = TypeVar("T")

_TURNS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]] = WeakKeyDictionary()


async def in_slices(items: Iterable[T], *, steps: int = 0) -> AsyncIterator[T]:
    """The same items. Others have a turn whenever a slice of work was done for them: what was
    charged meanwhile, and `steps` for each of them.
    """
    begun = spent()
    for item in items:
        yield item
        charge(steps)
        if spent() - begun >= SLICE:
            await others_first()
            begun = spent()


async def others_first() -> None:
    """Let everybody else have a turn."""
    loop = asyncio.get_running_loop()
    turns = _TURNS.get(loop)
    if turns is None:
        turns = _TURNS[loop] = asyncio.Lock()
    async with turns:
        await asyncio.sleep(0)
