"""The way to the file: one writer thread that commits in groups, and read-only connections beside
it.

A commit with `synchronous=FULL` waits for the disk. So whatever has been asked for while the last
commit was under way becomes one transaction: each verb in a savepoint of its own, which alone is
rolled back if it fails, and nobody gets an answer before the common commit.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Protocol, TypeVar

import msgspec

from onthedot.errors import StoreLost, StoreReplaced, StoreUnavailable
from onthedot.observe.events import log, warn
from onthedot.store.sqlite.connecting import MEMORY, connect
from onthedot.store.sqlite.files import Files
from onthedot.store.sqlite.group_commit import (
    Verb,
    WriteRequest,
    answer,
    answerable,
    commit_group,
    fail,
)

T = TypeVar("T")

GROUP_MAX = 256
READERS = 2
CLOSE_S = 10.0
"""So long a store that is closed waits for what was asked for before."""


class SqliteDatabase(Protocol):
    async def write(self, verb: Verb[T]) -> T:
        """Run a verb in a transaction; when this returns, its effect is durable."""
        ...

    async def read(self, verb: Verb[T]) -> T:
        """Run a verb that only reads, on a snapshot no older than the last answered write."""
        ...

    async def close(self) -> None: ...


def as_json(values: Sequence[Any]) -> str:
    """Numbers or rows as one value, for a statement that takes them all."""
    return msgspec.json.encode(values).decode()


class FileDatabase:
    """A file, for the server.

    If the writer thread ends, for whatever reason, whoever waits for it or asks it for something
    is given StoreLost. While the file is not where it was opened, writes are given StoreReplaced.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._requests: queue.SimpleQueue[WriteRequest | None] = queue.SimpleQueue()
        self._connection = connect(path)
        self._files = Files(path)
        self._replaced: StoreReplaced | None = None
        self._lost: StoreLost | None = None
        self._read_connections: queue.SimpleQueue[sqlite3.Connection] = queue.SimpleQueue()
        for _ in range(READERS):
            self._read_connections.put(connect(path, read_only=True))
        self._readers = ThreadPoolExecutor(READERS, "sqlite-read")
        self._closed = False
        self._writer = threading.Thread(target=self._write_all, name="sqlite-write", daemon=True)
        self._writer.start()

    async def write(self, verb: Verb[T]) -> T:
        if self._closed:
            raise StoreUnavailable("the store has been closed")
        request = WriteRequest(verb, asyncio.get_running_loop())
        self._requests.put(request)
        if self._lost is not None:  # nobody takes it any more
            self._refuse_all(self._lost, [])
        result: T = await request.future
        return result

    async def read(self, verb: Verb[T]) -> T:
        if self._closed:
            raise StoreUnavailable("the store has been closed")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._read, verb)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._requests.put(None)
        await asyncio.get_running_loop().run_in_executor(None, self._end)

    def _end(self) -> None:
        """A writer that does not end is left behind: the process can go all the same."""
        self._writer.join(CLOSE_S)
        self._readers.shutdown()
        connections = [self._read_connections.get() for _ in range(READERS)]
        if not self._writer.is_alive():
            connections.append(self._connection)
        for connection in connections:
            with suppress(sqlite3.Error):
                connection.close()

    def _read(self, verb: Verb[T]) -> T:
        connection = self._read_connections.get()  # there are as many as threads
        try:
            # One snapshot for all statements of the verb, so that a run that moves between two
            # tables meanwhile is seen exactly once.
            connection.execute("begin")
            return verb(connection)
        except BaseException as error:
            raise answerable(error) from error
        finally:
            self._read_connections.put(self._at_rest(connection))

    def _at_rest(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        """Outside a transaction, or another connection in the place of one that cannot be."""
        try:
            if connection.in_transaction:
                connection.execute("rollback")
        except sqlite3.Error:
            with suppress(sqlite3.Error):
                fresh = connect(self._path, read_only=True)
                connection.close()
                return fresh
        return connection

    def _write_all(self) -> None:
        """The writer thread: endless by design, until `close` sends None."""
        group: list[WriteRequest] = []
        try:
            while group := self._next_group():
                self._commit(group)
                answer(group)
        except BaseException as error:  # noqa: BLE001  (others wait for it: they have to know)
            what = f"{type(error).__name__}: {error}"
            self._lost = StoreLost(
                f"the thread that writes to '{self._path}' has ended: {what}",
                hint="The server stops by itself; start it again. Please report it, with its log.",
            )
            warn("store.writer_ended", error=what)
            self._refuse_all(self._lost, group)

    def _next_group(self) -> list[WriteRequest]:
        """Wait for somebody, and take whoever has come by then; empty: it is over."""
        request = self._requests.get()
        group: list[WriteRequest] = []
        while request is not None:
            group.append(request)
            if len(group) == GROUP_MAX or self._requests.empty():
                return group
            request = self._requests.get()
        if group:
            self._requests.put(None)
        return group

    def _commit(self, group: Sequence[WriteRequest]) -> None:
        """While the file is not the one that was opened, nothing is written; what was written just
        before that was noticed is not counted on either.
        """
        if self._replaced is None or not self._is_replaced():
            commit_group(self._connection, group)
        if self._is_replaced():
            assert self._replaced is not None
            fail(group, self._replaced)

    def _is_replaced(self) -> bool:
        before, self._replaced = self._replaced, self._files.problem()
        if self._replaced is not None and before is None:
            warn("store.replaced", error=self._replaced.message)
        elif self._replaced is None and before is not None:
            log("store.returned", path=self._path)
        return self._replaced is not None

    def _refuse_all(self, lost: StoreLost, group: list[WriteRequest]) -> None:
        with suppress(queue.Empty):
            while True:  # bounded by what waits
                request = self._requests.get_nowait()
                if request is not None:
                    group.append(request)
        fail(group, lost)
        answer(group)


class InlineDatabase:
    """A database in memory, for tests and simulation: every verb runs at once, in the caller's
    thread.
    """

    def __init__(self) -> None:
        self._connection = connect(MEMORY)

    def apply(self, step: Verb[None]) -> None:
        """Run a step that has transactions of its own, such as a migration."""
        step(self._connection)

    async def write(self, verb: Verb[T]) -> T:
        request = WriteRequest(verb, asyncio.get_running_loop())
        commit_group(self._connection, [request])
        if request.error is not None:
            raise _in_this_thread(request.error)
        result: T = request.result
        return result

    async def read(self, verb: Verb[T]) -> T:
        try:
            return verb(self._connection)
        except Exception as error:
            raise answerable(error) from error

    async def close(self) -> None:
        self._connection.close()


def _in_this_thread(error: Exception) -> BaseException:
    """Nobody else is harmed by an exit or an interrupt here, so that it may go on."""
    cause = error.__cause__
    return error if cause is None or isinstance(cause, Exception) else cause
