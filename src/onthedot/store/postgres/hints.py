"""Wake-ups between processes, by LISTEN and NOTIFY. They are hints: with all of them lost,
polling finds everything, only later.

They have one connection of their own, which no verb ever uses. It is asked for a sign of life every
few seconds, since a half-open socket is silent for ever, and it is made again when it breaks. A
notification is never part of a verb's transaction: the commits of all that notify wait for each
other, which cost four fifths of the throughput when it was tried.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import asyncpg

from onthedot.clock import Clock
from onthedot.observe.events import log, warn
from onthedot.store.postgres.database import FOREIGN, translated
from onthedot.store.postgres.hosts import hosts_of
from onthedot.store.postgres.statements import SQL

CHANNEL: Final = "onthedot"
WORDS: Final = ("clock", "nodes", "queue")
HELLO: Final = "hello"
PACE_S: Final = 0.05
"""At most 20 notifications a second from one process."""

PING_S: Final = 5.0
PATIENCE_S: Final = 5.0
HELLO_S: Final = 2.0
GRID_S: Final = 0.005
COMING_MAX: Final = 256


class Hints:
    """`step` is driven by a loop, which `on_news` nudges; `on_heard` is called with each word that
    another process says.
    """

    def __init__(self, url: str, clock: Clock) -> None:
        self.on_news: Callable[[], None] = lambda: None
        self.on_heard: Callable[[str], None] = lambda word: None
        self._hosts = hosts_of(url)
        self._clock = clock
        self._connection: asyncpg.Connection | None = None
        self._pid = 0
        self._hello = asyncio.Event()
        self._pending: set[str] = set()
        self._coming: set[tuple[float, str]] = set()
        self._told_at = self._answered_at = clock.monotonic() - PING_S

    @property
    def listening(self) -> bool:
        return self._connection is not None and self._hello.is_set()

    def tell(self, word: str, after_s: float = 0.0) -> None:
        """Say it to the other processes, soon or in a while; what is said twice is told once."""
        assert word in WORDS, word
        if after_s <= 0 and word not in self._pending:
            self._pending.add(word)
            self.on_news()
        elif after_s > 0 and len(self._coming) < COMING_MAX:
            # Rounded up: never early, and a second full of instants has room.
            at = self._clock.monotonic() + after_s
            self._coming.add((math.ceil(at / GRID_S) * GRID_S, word))
            self.on_news()

    async def step(self) -> float:
        """Listen, tell what is due to be told, and make sure that somebody answers."""
        try:
            connection = await self._connected()
            async with asyncio.timeout(PATIENCE_S):
                await self._talk(connection)
        except FOREIGN as error:
            self._drop()
            raise translated(error) from error
        return self._pause()

    async def close(self, *, at_once: bool = False) -> None:
        """Tell what is left, also what was to be told later: a drain has given runs back, and
        nobody else knows when they are due. Then let go.
        """
        connection, self._connection = self._connection, None
        if connection is None:
            return
        connection.remove_termination_listener(self._lost)
        with suppress(*FOREIGN):
            async with asyncio.timeout(HELLO_S):
                # Bounded by the timeout: nothing is told more than a second ahead.
                while self._pending or (self._coming and not at_once):
                    await asyncio.sleep(self._pause())
                    await self._talk(connection)
                await connection.close()
        if not connection.is_closed():
            connection.terminate()

    async def _talk(self, connection: asyncpg.Connection) -> None:
        now = self._clock.monotonic()
        words = self._due(now)
        if words:
            try:
                await connection.execute(SQL["hints.tell"], " ".join(words))
            except BaseException:
                self._pending.update(words)
                raise
            self._told_at = now
        elif now - self._answered_at >= PING_S:
            await connection.execute(SQL["hints.ping"])
        else:
            return
        self._answered_at = self._clock.monotonic()

    def _due(self, now: float) -> list[str]:
        """What to say now; nothing within the pace."""
        if now - self._told_at < PACE_S:
            return []
        come = {each for each in self._coming if each[0] <= now}
        self._coming -= come
        words = sorted(self._pending | {word for _, word in come})
        self._pending.clear()
        return words

    def _pause(self) -> float:
        now = self._clock.monotonic()
        wait = self._answered_at + PING_S - now
        if self._coming:
            wait = min(wait, max(min(self._coming)[0], self._told_at + PACE_S) - now)
        if self._pending:
            wait = min(wait, self._told_at + PACE_S - now)
        return max(wait, 0.0)

    async def _connected(self) -> asyncpg.Connection:
        if self._connection is not None and not self._connection.is_closed():
            return self._connection
        async with asyncio.timeout(PATIENCE_S):
            self._connection = connection = await self._hosts.connect(
                timeout=PATIENCE_S, statement_cache_size=0, command_timeout=PATIENCE_S
            )
            self._pid = connection.get_server_pid()
            connection.add_termination_listener(self._lost)
            await connection.add_listener(CHANNEL, self._on_notify)
        self._answered_at = self._clock.monotonic()
        await self._try_out(connection)
        for word in WORDS:
            self.on_heard(word)  # whatever was said while nobody listened
        return connection

    async def _try_out(self, connection: asyncpg.Connection) -> None:
        """Behind a pooler in transaction mode LISTEN succeeds and nothing ever comes."""
        self._hello.clear()
        try:
            async with asyncio.timeout(HELLO_S):
                await connection.execute(SQL["hints.tell"], HELLO)
                await self._hello.wait()
        except TimeoutError:
            warn(
                "hints.deaf",
                hint="Notifications do not arrive: a pooler is in between."
                " Set notify to the address of PostgreSQL itself, or to no.",
            )
            return
        log("hints.listening")

    def _on_notify(self, _connection: Any, pid: int, _channel: str, payload: object) -> None:
        said = str(payload).split()
        if pid == self._pid:
            if HELLO in said:
                self._hello.set()
            return
        for word in WORDS:
            if word in said:
                self.on_heard(word)

    def _lost(self, connection: Any) -> None:
        if connection is self._connection:
            self._connection = None
            self.on_news()

    def _drop(self) -> None:
        """Without a farewell: whoever did not answer will not hear it either."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()
