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
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

import msgspec

from onthedot.errors import OnthedotError, StoreError, StoreFull, StoreUnavailable

T = TypeVar("T")
Verb = Callable[[sqlite3.Connection], T]

GROUP_MAX = 256
READERS = 2
STATEMENTS_MAX = 512
"""Kept prepared by a connection: more than there are."""
VERSION_MIN = (3, 37, 0)


class Database(Protocol):
    async def write(self, verb: Verb[T]) -> T:
        """Run a verb in a transaction; when this returns, its effect is durable."""
        ...

    async def read(self, verb: Verb[T]) -> T:
        """Run a verb that only reads, on a snapshot no older than the last answered write."""
        ...

    async def close(self) -> None: ...


def connect(path: str, *, read_only: bool = False) -> sqlite3.Connection:
    if sqlite3.sqlite_version_info < VERSION_MIN:
        raise StoreError(
            f"SQLite {sqlite3.sqlite_version} is too old: onthedot needs 3.37 or newer",
            hint="Use a Python that comes with a newer SQLite, for example from python.org.",
        )
    try:
        connection = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, cached_statements=STATEMENTS_MAX
        )
        for pragma in _PRAGMAS_READ if read_only else _PRAGMAS_WRITE:
            connection.execute(f"pragma {pragma}")
    except sqlite3.Error as error:
        raise translated(error) from error
    return connection


# cache_size is in KiB when negative. The writer owns every checkpoint: SQLite before 3.51.3 can
# corrupt a file when two connections checkpoint at once.
_PRAGMAS_WRITE = (
    "journal_mode=wal",
    "synchronous=full",
    "busy_timeout=5000",
    "wal_autocheckpoint=4000",
    "journal_size_limit=67108864",
    "cache_size=-65536",
    "temp_store=memory",
)
_PRAGMAS_READ = ("query_only=on", "busy_timeout=5000", "wal_autocheckpoint=0", "cache_size=-16384")


def as_json(values: Sequence[Any]) -> str:
    """Numbers or rows as one value, for a statement that takes them all."""
    return msgspec.json.encode(values).decode()


def about() -> dict[str, str]:
    """What decides how quick and how safe a file is."""
    return {"sqlite": sqlite3.sqlite_version, "journal_mode": "wal", "synchronous": "full"}


class FileDatabase:
    """A file, for the server."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._requests: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._connection = connect(path)
        self._local = threading.local()
        self._read_connections: list[sqlite3.Connection] = []
        self._readers = ThreadPoolExecutor(READERS, "sqlite-read", self._open_reader)
        self._closed = False
        self._writer = threading.Thread(target=self._write_all, name="sqlite-write", daemon=True)
        self._writer.start()

    async def write(self, verb: Verb[T]) -> T:
        if self._closed:
            raise StoreUnavailable("the store has been closed")
        request = _Request(verb, asyncio.get_running_loop())
        self._requests.put(request)
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
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._writer.join)
        self._readers.shutdown()
        for connection in (*self._read_connections, self._connection):
            connection.close()

    def _open_reader(self) -> None:
        self._local.connection = connect(self._path, read_only=True)
        self._read_connections.append(self._local.connection)

    def _read(self, verb: Verb[T]) -> T:
        try:
            # One snapshot for all statements of the verb, so that a run that moves between two
            # tables meanwhile is seen exactly once.
            self._local.connection.execute("begin")
            try:
                return verb(self._local.connection)
            finally:
                self._local.connection.execute("rollback")
        except sqlite3.Error as error:
            raise translated(error) from error

    def _write_all(self) -> None:
        """The writer thread: endless by design, until `close` sends None."""
        while (request := self._requests.get()) is not None:
            group = [request]
            while len(group) < GROUP_MAX and not self._requests.empty():
                following = self._requests.get()
                if following is None:
                    self._requests.put(None)
                    break
                group.append(following)
            _commit_group(self._connection, group)
            _answer(group)


class InlineDatabase:
    """A database in memory, for tests and simulation: every verb runs at once, in the caller's
    thread.
    """

    def __init__(self) -> None:
        self._connection = connect(":memory:")

    def apply(self, step: Verb[None]) -> None:
        """Run a step that has transactions of its own, such as a migration."""
        step(self._connection)

    async def write(self, verb: Verb[T]) -> T:
        request = _Request(verb, asyncio.get_running_loop())
        _commit_group(self._connection, [request])
        if request.error is not None:
            raise request.error
        result: T = request.result
        return result

    async def read(self, verb: Verb[T]) -> T:
        try:
            return verb(self._connection)
        except sqlite3.Error as error:
            raise translated(error) from error

    async def close(self) -> None:
        self._connection.close()


class _Request:
    __slots__ = ("error", "future", "loop", "result", "verb")

    def __init__(self, verb: Verb[Any], loop: asyncio.AbstractEventLoop) -> None:
        self.verb = verb
        self.loop = loop
        self.future: asyncio.Future[Any] = loop.create_future()
        self.result: Any = None
        self.error: BaseException | None = None


def _commit_group(connection: sqlite3.Connection, group: list[_Request]) -> None:
    try:
        connection.execute("begin immediate")
        for request in group:
            _run_in_savepoint(connection, request)
        connection.execute("commit")
    except sqlite3.Error as error:
        # Whatever the verbs returned, nothing of the group was kept.
        if connection.in_transaction:
            connection.execute("rollback")
        for request in group:
            request.error = translated(error)


def _run_in_savepoint(connection: sqlite3.Connection, request: _Request) -> None:
    connection.execute("savepoint verb")
    try:
        request.result = request.verb(connection)
    except Exception as error:
        # A full disk may end the whole transaction; then there is no savepoint to go back to, and
        # the group fails with this error.
        if not connection.in_transaction:
            raise
        connection.execute("rollback to verb")
        request.error = translated(error) if isinstance(error, sqlite3.Error) else error
    connection.execute("release verb")


def _answer(group: list[_Request]) -> None:
    """Hand the results over, with one call into each event loop that waits."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Request]] = {}
    for request in group:
        by_loop.setdefault(request.loop, []).append(request)
    for loop, requests in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_settle, requests)


def _settle(requests: list[_Request]) -> None:
    for request in requests:
        if request.future.done():  # its caller was cancelled and has stopped waiting
            continue
        if request.error is not None:
            request.future.set_exception(request.error)
        else:
            request.future.set_result(request.result)


# Result codes that say: the file or the disk does not answer as it should just now.
_UNAVAILABLE = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_INTERRUPT,
    }
)
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def translated(error: sqlite3.Error) -> Exception:
    """An error of the driver in our words; one that means a mistake of ours stays as it is."""
    if isinstance(error, OnthedotError):
        return error
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return StoreFull(
            "the disk is full: nothing was written",
            hint="Free some space; the server goes on by itself.",
        )
    if code in _UNAVAILABLE:
        return StoreUnavailable(
            f"the database does not answer: {error}",
            hint="Check that the file and its folder can be read and written.",
        )
    if code in _DAMAGED:
        return StoreError(
            f"this is not a usable SQLite database: {error}",
            hint="Check the path; if the file is damaged, restore it from a backup.",
        )
    return error
