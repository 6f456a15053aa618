"""Wake-ups between processes on a real PostgreSQL: heard, paced, and mended when they break."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import asyncpg
import pytest

from onthedot.clock import SystemClock
from onthedot.roles.loop import Loop
from onthedot.store.postgres import hints as hints_module
from onthedot.store.postgres.hints import CHANNEL, WORDS, Hints
from tests.integration.test_nodes_kit import PACKAGED
from tests.support import postgres

POLL_S = 0.005
END_ALL_OTHERS = """
    select pg_terminate_backend(pid)
    from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()
"""


def here() -> str:
    return postgres.shared(PACKAGED).url()


@dataclass
class Talker:
    """A process, as far as hints go."""

    hints: Hints
    loop: Loop
    heard: list[str] = field(default_factory=list)


@asynccontextmanager
async def talking(url: str, *, listening: bool = True) -> AsyncIterator[Talker]:
    clock = SystemClock()
    hints = Hints(url, clock)
    talker = Talker(hints, Loop("hints", hints.step, clock))
    hints.on_heard = talker.heard.append
    hints.on_news = talker.loop.nudge
    task = asyncio.create_task(talker.loop.run())
    try:
        if listening:
            await soon(
                lambda: len(talker.heard) == len(WORDS)
            )  # it begins with a look at everything
            assert hints.listening
            talker.heard.clear()
        yield talker
    finally:
        task.cancel()
        await asyncio.wait([task])
        await hints.close()


async def soon(probe: Callable[[], bool], within_s: float = 10.0) -> None:
    for _ in range(int(within_s / POLL_S)):
        if probe():
            return
        await asyncio.sleep(POLL_S)
    raise AssertionError(f"not within {within_s:g} s")


class Proxy:
    """Stands between a client and PostgreSQL: it can fall silent, or keep LISTEN from arriving."""

    def __init__(self, *, deaf: bool = False) -> None:
        self.frozen = False
        self.accepted = 0
        self._deaf = deaf
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        try:
            yield f"postgresql://{postgres.USER}@127.0.0.1:{port}/postgres?sslmode=disable"
        finally:
            server.close()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        back, forth = await asyncio.open_unix_connection(
            str(postgres.shared(PACKAGED).folder / ".s.PGSQL.5432")
        )
        for source, sink in ((reader, forth), (back, writer)):
            task = asyncio.create_task(self._pump(source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        frozen = self.frozen
        with suppress(ConnectionError):
            while data := await source.read(65_536):
                if self.frozen and not frozen:
                    continue  # the other side never hears of it, as behind a dead firewall
                if self._deaf:
                    data = data.replace(b'LISTEN "onthedot"', b"SELECT 1234567890")
                sink.write(data)
                await sink.drain()
        sink.close()


async def test_what_one_process_says_the_other_hears_and_not_itself():
    async with talking(here()) as one, talking(here()) as other:
        one.heard.clear()
        one.hints.tell("queue")
        await soon(lambda: other.heard == ["queue"])
        other.hints.tell("clock")
        other.hints.tell("queue")
        await soon(lambda: one.heard == ["clock", "queue"])

        assert other.heard == ["queue"]


async def test_many_hints_become_at_most_twenty_notifications_a_second():
    told: list[str] = []
    listener = await asyncpg.connect(here())
    await listener.add_listener(CHANNEL, lambda _c, _p, _n, said: told.append(str(said)))
    async with talking(here()) as talker:
        told.clear()
        end = asyncio.get_running_loop().time() + 1.0
        while asyncio.get_running_loop().time() < end:
            talker.hints.tell("queue")
            talker.hints.tell("clock")
            await asyncio.sleep(0.001)
    await listener.close()

    assert 5 <= len(told) <= 21
    assert set(told) <= {"queue", "clock", "clock queue"}


async def test_a_hint_for_later_is_told_later():
    async with talking(here()) as one, talking(here()) as other:
        one.heard.clear()
        began = asyncio.get_running_loop().time()
        for _ in range(1_000):
            one.hints.tell("queue", 0.3)

        await soon(lambda: other.heard == ["queue"])

        assert asyncio.get_running_loop().time() - began >= 0.3


async def test_what_was_to_be_said_later_is_said_before_it_leaves():
    async with talking(here()) as other:
        async with talking(here()) as leaving:
            other.heard.clear()
            leaving.hints.tell("queue", 0.4)
            leaving.hints.tell("nodes")
            began = asyncio.get_running_loop().time()

        assert asyncio.get_running_loop().time() - began >= 0.4
        await soon(lambda: other.heard == ["nodes", "queue"])


async def test_one_in_a_hurry_leaves_without_what_was_to_be_said_later():
    async with talking(here()) as leaving:
        leaving.hints.tell("queue", 10.0)
        began = asyncio.get_running_loop().time()
        await leaving.hints.close(at_once=True)

    assert asyncio.get_running_loop().time() - began < 5.0


async def test_a_connection_that_the_server_ends_is_made_anew_at_once():
    async with talking(here()) as talker, talking(here()) as other:
        talker.heard.clear()
        killer = await asyncpg.connect(here())
        await killer.execute(END_ALL_OTHERS)
        await killer.close()
        # It looks at everything again: nobody knows what was said meanwhile.
        await soon(lambda: {"clock", "queue"} <= set(talker.heard))
        await soon(lambda: talker.hints.listening and other.hints.listening)
        talker.heard.clear()
        other.hints.tell("queue")
        await soon(lambda: "queue" in talker.heard)

        assert talker.hints.listening


async def test_a_socket_that_has_fallen_silent_is_noticed_and_replaced(monkeypatch):
    monkeypatch.setattr(hints_module, "PING_S", 0.1)
    monkeypatch.setattr(hints_module, "PATIENCE_S", 0.5)
    proxy = Proxy()
    async with proxy.running() as url, talking(url) as talker, talking(here()) as other:
        proxy.frozen = True
        await soon(lambda: proxy.accepted >= 2 and talker.hints.listening)
        await soon(lambda: "queue" in talker.heard)
        talker.heard.clear()
        other.hints.tell("clock")
        await soon(lambda: "clock" in talker.heard)

        assert talker.hints.listening


async def test_behind_a_pooler_that_swallows_listen_it_says_so_and_still_tells(monkeypatch, caplog):
    monkeypatch.setattr(hints_module, "HELLO_S", 0.3)
    proxy = Proxy(deaf=True)
    async with (
        proxy.running() as url,
        talking(url, listening=False) as deaf,
        talking(here()) as other,
    ):
        await soon(lambda: "hints.deaf" in caplog.text)
        await soon(lambda: len(deaf.heard) == len(WORDS))
        deaf.hints.tell("queue")
        await soon(lambda: other.heard == ["queue"])

        assert not deaf.hints.listening
        assert "Set notify to the address" in caplog.text


async def test_a_database_that_is_not_there_is_tried_again_and_again():
    async with talking("postgresql://me@127.0.0.1:1/none", listening=False) as talker:
        talker.hints.tell("queue")
        await soon(lambda: talker.loop.trouble is not None)

        assert "StoreUnavailable" in (talker.loop.trouble or "")


def test_a_word_that_nobody_understands_is_a_mistake_of_ours():
    with pytest.raises(AssertionError):
        Hints(here(), SystemClock()).tell("nonsense")
