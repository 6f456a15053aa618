"""A TCP proxy between a node and its database, on which the way can be made bad while it is used.

slow      everything is under way for a while longer
hold      nothing gets through for a time; then all of it does, as if nothing had been
lose      nothing gets through, and what was connected stays silent for ever: whoever kept the
          connection in between has forgotten it. The peer still takes what it is sent.
refuse    connections end, new ones are refused
reset     connections end, new ones are made
flaky     now and then one ends in the middle of an answer
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from types import TracebackType
from urllib.parse import SplitResult, parse_qsl, urlsplit, urlunsplit

START_S = 10.0
CHUNK = 64 * 1024
AT_ONCE = struct.pack("ii", 1, 0)  # linger for no time: the peer gets a reset


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How the way is now. `ends`: the share of pieces that end their connection."""

    delay_s: float = 0.0
    held: bool = False
    lossy: bool = False
    refused: bool = False
    ends: float = 0.0


@dataclass(slots=True, eq=False)
class Link:
    """One connection of the node, and ours to the database in its place."""

    near: asyncio.StreamWriter
    far: asyncio.StreamWriter | None = None
    forgotten: bool = False
    pumps: list[asyncio.Task[None]] = field(default_factory=list)

    def end(self) -> None:
        for pump in self.pumps:
            pump.cancel()
        _reset(self.near)
        if self.far is not None:
            _reset(self.far)


class Proxy:
    """Between whoever takes `url` for the database's and the database itself; in a thread of its
    own. What is done to it takes effect at once, from any thread.
    """

    def __init__(self, database_url: str, seed: int = 0) -> None:
        parts = urlsplit(database_url)
        self._target = _target(parts)
        self._chance = Random(seed)
        self._way = Way()
        self._links: set[Link] = set()
        self._orphans: list[asyncio.StreamWriter] = []
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._over = asyncio.Event()
        self._passable = asyncio.Event()
        self._port = 0
        self._thread = threading.Thread(target=self._run, name="proxy", daemon=True)
        self._thread.start()
        assert self._ready.wait(START_S), "the proxy did not start"
        login, _, _ = parts.netloc.rpartition("@")
        place = f"127.0.0.1:{self._port}"
        netloc = f"{login}@{place}" if login else place
        self.url = urlunsplit(parts._replace(netloc=netloc, query=""))

    def __enter__(self) -> Proxy:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._over.set)
            self._thread.join(START_S)
        assert not self._thread.is_alive(), "the proxy did not stop"

    # What is done to the way

    def heal(self) -> None:
        """Connections that were forgotten stay so."""
        self._tell(Way())

    def slow(self, delay_s: float) -> None:
        self._tell(Way(delay_s=delay_s))

    def hold(self) -> None:
        self._tell(Way(held=True))

    def lose(self) -> None:
        self._tell(Way(lossy=True))

    def refuse(self) -> None:
        self._tell(Way(refused=True), end=True)

    def flaky(self, ends: float) -> None:
        self._tell(Way(ends=ends))

    def reset(self) -> None:
        self._tell(None, end=True)

    def _tell(self, way: Way | None, *, end: bool = False) -> None:
        done = threading.Event()

        def change() -> None:
            if way is not None:
                self._change(way)
            if end:
                for link in list(self._links):
                    link.end()
            done.set()

        self._loop.call_soon_threadsafe(change)
        assert done.wait(START_S), "the proxy does not listen"

    def _change(self, way: Way) -> None:
        self._way = way
        if way == Way():
            self._end_orphans()
        if way.lossy:
            for link in self._links:
                link.forgotten = True
        if way.held:
            self._passable.clear()
        else:
            self._passable.set()

    # The way

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._passable.set()
        server = await asyncio.start_server(self._converse, "127.0.0.1", 0)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._over.wait()
        server.close()
        for link in list(self._links):
            link.end()
        self._end_orphans()

    def _end_orphans(self) -> None:
        """What the database still takes for connected, although the node left long ago."""
        for far in self._orphans:
            _reset(far)
        self._orphans.clear()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = Link(writer, forgotten=self._way.lossy)
        if self._way.refused:
            link.end()
            return
        self._links.add(link)
        try:
            await self._passable.wait()
            far_reader = None
            if not link.forgotten:
                far_reader, link.far = await self._connect()
            link.pumps = [asyncio.create_task(self._pump(link, reader, link.far))]
            if far_reader is not None:
                link.pumps.append(asyncio.create_task(self._pump(link, far_reader, link.near)))
            # A side that leaves ends the other. One that is cancelled was ended by `end`.
            await asyncio.wait(link.pumps, return_when=asyncio.FIRST_COMPLETED)
        except OSError:
            pass  # nobody listens there: neither do we
        finally:
            self._links.discard(link)
            if link.forgotten and link.far is not None:
                self._orphans.append(link.far)
                link.far = None
            link.end()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if isinstance(self._target, str):
            return await asyncio.open_unix_connection(self._target)
        return await asyncio.open_connection(*self._target)

    async def _pump(
        self, link: Link, reader: asyncio.StreamReader, writer: asyncio.StreamWriter | None
    ) -> None:
        with suppress(OSError):
            while piece := await reader.read(CHUNK):
                if self._way.delay_s:
                    await asyncio.sleep(self._way.delay_s)
                await self._passable.wait()
                if link.forgotten or writer is None:
                    continue  # taken, and never passed on
                if self._way.ends and self._chance.random() < self._way.ends:
                    writer.write(piece[: len(piece) // 2])
                    return
                writer.write(piece)
                await writer.drain()


def _target(parts: SplitResult) -> tuple[str, int] | str:
    """A port, or the socket in the folder that the query names as host."""
    if parts.hostname is not None:
        assert parts.port is not None
        return parts.hostname, parts.port
    named = dict(parse_qsl(parts.query))
    return f"{named['host']}/.s.PGSQL.{named['port']}"


def _reset(writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        found = writer.get_extra_info("socket")
        if found is not None:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
        writer.transport.abort()
