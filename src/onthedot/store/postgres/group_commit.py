"""Many who ask at the same time are served by one transaction: while one group is under way, the
next gathers. Who is alone waits for nobody, and each gets an answer or an error of his own.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

import asyncpg

from onthedot.errors import Refused

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")

GROUP_MAX = 100
"""Who comes later is in the next group: what one transaction locks must not wait for long."""


class GroupCommit(Generic[Asked, Answer]):
    """`serve` answers a group, all or none, in the order given."""

    def __init__(self, serve: Callable[[Sequence[Asked]], Awaitable[Sequence[Answer]]]) -> None:
        self._serve = serve
        self._waiting: deque[tuple[Asked, asyncio.Future[Answer]]] = deque()
        self._serving: asyncio.Task[None] | None = None

    async def ask(self, asked: Asked) -> Answer:
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((asked, answer))
        if self._serving is None:
            self._serving = asyncio.create_task(self._serve_all(), name="gathering")
        return await answer

    async def _serve_all(self) -> None:
        try:
            while self._waiting:  # bounded by who still asks
                count = min(len(self._waiting), GROUP_MAX)
                await self._serve_group([self._waiting.popleft() for _ in range(count)])
        finally:
            self._serving = None

    async def _serve_group(self, group: list[tuple[Asked, asyncio.Future[Answer]]]) -> None:
        """Of a group that is refused for what is in it, each is served alone."""
        try:
            answers = await self._serve([asked for asked, _ in group])
        except (asyncpg.PostgresError, Refused) as error:
            if len(group) == 1:
                _fail(group, error)
                return
            for each in group:
                await self._serve_group([each])
        except asyncio.CancelledError:
            for _, answer in group:
                answer.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - it goes to those who asked
            _fail(group, error)
        else:
            for (_, answer), found in zip(group, answers, strict=True):
                if not answer.done():  # whoever asked may have gone
                    answer.set_result(found)


def _fail(group: list[tuple[Asked, asyncio.Future[Answer]]], error: Exception) -> None:
    for _, answer in group:
        if not answer.done():
            answer.set_exception(error)
