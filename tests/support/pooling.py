"""Transaction pooling for the PostgreSQL protocol: each transaction of a client gets a backend, and
the next one another.

It is as strict as PgBouncer: a backend is a client's from its first message to the ReadyForQuery
that says `idle`, unknown parameters of a startup are refused, and nothing is reset in between.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count

BACKENDS = 4
SSL_REQUEST, GSS_REQUEST, CANCEL_REQUEST = 80_877_103, 80_877_104, 80_877_102
KNOWN = frozenset(
    {"user", "database", "client_encoding", "application_name", "datestyle", "timezone"}
)
ENDS = frozenset({b"Q", b"S", b"F"})
"""What a client sends to be answered by a ReadyForQuery."""
COPYING = frozenset({b"d", b"c", b"f"})
IDLE = b"I"


class Refused(Exception):
    """The reason is told to the client."""


def message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


async def read_message(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readexactly(5)
    (length,) = struct.unpack("!I", head[1:])
    return head + await reader.readexactly(length - 4)


async def read_startup(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    length, code = struct.unpack("!II", await reader.readexactly(8))
    return code, await reader.readexactly(length - 8)


def startup(parameters: Mapping[str, str]) -> bytes:
    pairs = "".join(f"{name}\0{value}\0" for name, value in parameters.items())
    body = struct.pack("!I", 3 << 16) + pairs.encode() + b"\0"
    return struct.pack("!I", len(body) + 4) + body


@dataclass(eq=False)
class Client:
    writer: asyncio.StreamWriter
    number: int
    backend: Backend | None = None
    last: Backend | None = None


@dataclass(eq=False)
class Backend:
    """One session of PostgreSQL. `owed`: answers that its client waits for; `open`: there will be
    one more, since something was sent that a Sync has yet to follow.
    """

    pool: Pool
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    greeting: list[bytes] = field(default_factory=list)
    key: bytes = b""
    client: Client | None = None
    owed: int = 0
    open: bool = False

    async def greet(self, parameters: Mapping[str, str]) -> None:
        self.writer.write(startup(parameters))
        while True:  # bounded: it ends with ReadyForQuery, or with the connection
            said = await read_message(self.reader)
            match said[:1]:
                case b"E":
                    raise Refused(said[5:].decode(errors="replace"))
                case b"S":
                    self.greeting.append(said)
                case b"K":
                    self.key = said[5:]
                case b"Z":
                    return

    def send(self, said: bytes) -> None:
        kind = said[:1]
        if kind in ENDS:
            self.owed += 1
            self.open = False
        elif kind not in COPYING:
            self.open = True
        self.writer.write(said)

    async def pump(self) -> None:
        """Pass on what it says, for as long as it lives; what it says to nobody is lost."""
        try:
            while True:
                said = await read_message(self.reader)
                if self.client is None:
                    continue
                self.client.writer.write(said)
                await self.client.writer.drain()
                if said[:1] == b"Z":
                    self.owed -= 1
                    if said[5:] == IDLE and not self.owed and not self.open:
                        await self.pool.take_back(self)
        except (OSError, asyncio.IncompleteReadError):
            if self.client is not None:
                self.client.writer.close()
        finally:
            await self.pool.drop(self)


class Pool:
    """The backends of one user and database."""

    def __init__(self, path: str, parameters: Mapping[str, str]) -> None:
        self._path = path
        self._parameters = parameters
        self._idle: list[Backend] = []
        self._all: set[Backend] = set()
        self._changed = asyncio.Condition()
        self._pumps: set[asyncio.Task[None]] = set()

    async def take(self, client: Client) -> Backend:
        """The backend that has rested longest, but not the client's last if there is any other."""
        async with self._changed:
            while True:  # bounded by the transactions that others have under way
                others = [each for each in self._idle if each is not client.last]
                if not others and len(self._all) < BACKENDS:
                    backend = await self._opened()
                elif others or self._idle:
                    backend = (others or self._idle)[0]
                    self._idle.remove(backend)
                else:
                    await self._changed.wait()
                    continue
                backend.client, client.backend = client, backend
                return backend

    async def take_back(self, backend: Backend) -> None:
        client, backend.client = backend.client, None
        if client is not None:
            client.backend, client.last = None, backend
        async with self._changed:
            self._idle.append(backend)
            self._changed.notify_all()

    async def drop(self, backend: Backend) -> None:
        backend.writer.close()
        async with self._changed:
            self._all.discard(backend)
            if backend in self._idle:
                self._idle.remove(backend)
            self._changed.notify_all()

    async def greeting(self, client: Client) -> list[bytes]:
        backend = await self.take(client)
        await self.take_back(backend)
        return backend.greeting

    async def _opened(self) -> Backend:
        backend = Backend(self, *await asyncio.open_unix_connection(self._path))
        await backend.greet(self._parameters)
        self._all.add(backend)
        task = asyncio.create_task(backend.pump())
        self._pumps.add(task)
        task.add_done_callback(self._pumps.discard)
        return backend

    def close(self) -> None:
        for task in self._pumps:
            task.cancel()


class Pooling:
    """Everything behind one socket."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._pools: dict[tuple[str, str], Pool] = {}
        self._clients: dict[int, Client] = {}
        self._numbers = count(1)

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client, from its startup to its end."""
        client = Client(writer, next(self._numbers))
        try:
            parameters = await self._begun(reader, writer)
            if parameters is None:
                return
            pool = self._pool(parameters)
            self._clients[client.number] = client
            writer.write(self._welcome(client, await pool.greeting(client)))
            while (said := await read_message(reader))[:1] != b"X":
                backend = client.backend or await pool.take(client)
                backend.send(said)
                await backend.writer.drain()
        except Refused as refused:
            writer.write(_error(str(refused)))
        except (OSError, asyncio.IncompleteReadError):
            pass  # it left, or its backend did
        finally:
            self._clients.pop(client.number, None)
            if client.backend is not None:  # in a transaction: nobody else may have it
                client.backend.writer.close()
            writer.close()

    async def _begun(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> Mapping[str, str] | None:
        """What the client says of itself. None: it only wanted something cancelled."""
        code, body = await read_startup(reader)
        while code in (SSL_REQUEST, GSS_REQUEST):
            writer.write(b"N")
            code, body = await read_startup(reader)
        if code == CANCEL_REQUEST:
            await self._cancel(body)
            return None
        words = body.decode().split("\0")
        parameters = dict(zip(words[::2], words[1::2], strict=False))
        parameters.pop("", None)
        for name in parameters:
            if name.lower() not in KNOWN:
                raise Refused(f"unsupported startup parameter: {name}")
        return parameters

    def _pool(self, parameters: Mapping[str, str]) -> Pool:
        user = parameters["user"]
        database = parameters.get("database", user)
        if (user, database) not in self._pools:
            self._pools[user, database] = Pool(self._path, {"user": user, "database": database})
        return self._pools[user, database]

    def _welcome(self, client: Client, greeting: list[bytes]) -> bytes:
        """Under a process number of ours: the backends are not the client's."""
        key = message(b"K", struct.pack("!II", client.number, client.number))
        accepted = message(b"R", struct.pack("!I", 0))
        return b"".join((accepted, *greeting, key, message(b"Z", IDLE)))

    async def _cancel(self, body: bytes) -> None:
        client = self._clients.get(struct.unpack("!II", body)[0])
        if client is not None and client.backend is not None:
            asked = struct.pack("!II", 16, CANCEL_REQUEST) + client.backend.key
            _, writer = await asyncio.open_unix_connection(self._path)
            writer.write(asked)
            await writer.drain()
            writer.close()


def _error(why: str) -> bytes:
    fields = {"S": "FATAL", "V": "FATAL", "C": "08P01", "M": why}
    body = "".join(f"{name}{value}\0" for name, value in fields.items()) + "\0"
    return message(b"E", body.encode())
