"""The way to PostgreSQL: a pool of connections, and its errors in our words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import asyncpg

from onthedot.errors import NodeDead, StoreError, StoreFull, StoreUnavailable, Taken
from onthedot.store.postgres.hosts import PostgresHosts, hosts_of
from onthedot.store.postgres.memory import DatabaseMemory
from onthedot.store.postgres.statements import SQL
from onthedot.store.refusals import lease_lost

T = TypeVar("T")
Connection: TypeAlias = "asyncpg.pool.PoolConnectionProxy | asyncpg.Connection"

CLOSE_S = 10.0
TRIES = 5
"""How often a transaction that was the victim of a deadlock is tried again, at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSettings:
    """`timeout_s`: how long a call waits for a connection, and then for its answer; `connect_s`:
    how long a new connection may take.

    `prepared` off is for a pooler in transaction mode: the next transaction has another session,
    which has never heard of a statement that was prepared. `still_s`: a transaction whose client
    stands still for so long, between two statements or while an answer waits to be taken, is ended
    by the database.

    Without that a process that is frozen, or whose machine has vanished, keeps its locks: nobody
    else can claim from the shard it was writing to, and its own row cannot be locked to declare it
    dead. Below the lease, so that whoever waits for it does not lose its own.
    """

    size: int = 10
    timeout_s: float = 15.0
    connect_s: float = 5.0
    prepared: bool = True
    still_s: float = 5.0


def numbers(these: list[int]) -> str:
    """An array, as text. The driver looks at each element of a list to see whether it is a list
    itself, which costs more than all the rest.
    """
    return "{" + repr(these)[1:-1] + "}"


class PostgresDatabase:
    """A pool for every verb, and one connection more for the heartbeat: however many calls hang, or
    wait for their turn, the node can say that it is alive. None is made before it is needed.
    """

    def __init__(self, pool: asyncpg.Pool, lifeline: asyncpg.Pool, wait_s: float) -> None:
        self._pool = pool
        self._lifeline = lifeline
        self.memory = DatabaseMemory()
        self._wait_s = wait_s
        self._under_way = 0
        self._closed = False
        self._idle = asyncio.Event()
        self._idle.set()

    @classmethod
    async def open(cls, url: str, settings: PoolSettings) -> PostgresDatabase:
        hosts = hosts_of(url)
        try:
            pool = await _pool(url, hosts, settings, settings.size)
            lifeline = await _pool(url, hosts, settings, 1)
        except FOREIGN as error:
            raise translated(error) from error
        return cls(pool, lifeline, settings.timeout_s)

    async def rows(self, statement: str, *values: object) -> list[Any]:
        return list(await self._patiently(lambda db: db.fetch(statement, *values)))

    async def row(self, statement: str, *values: object) -> Any:
        return await self._patiently(lambda db: db.fetchrow(statement, *values))

    async def value(self, statement: str, *values: object) -> Any:
        return await self._patiently(lambda db: db.fetchval(statement, *values))

    async def everywhere(self, statement: str) -> None:
        """The same on every connection that there is, at once."""
        await asyncio.gather(*(self.value(statement) for _ in range(self._pool.get_size())))

    async def transaction(
        self, verb: Callable[[Connection], Awaitable[T]], *, lifeline: bool = False
    ) -> T:
        """Run a verb of several statements; `lifeline`: on the connection kept for it."""

        async def whole(connection: Connection) -> T:
            async with _transaction(connection):
                return await verb(connection)

        return await self._patiently(whole, self._lifeline if lifeline else None)

    async def _patiently(
        self, work: Callable[[Connection], Awaitable[T]], pool: asyncpg.Pool | None = None
    ) -> T:
        """The victim of a deadlock begins again, at once: nothing of it was written. So does a
        finish that waited while the day it belongs to was made: the only checks are partitions'.
        """
        if pool is None:
            self.memory.refuse_lost()
        for tries_left in reversed(range(TRIES)):
            try:
                async with self._connection(pool or self._pool) as connection:
                    return await work(connection)
            except _AGAIN as error:
                if not tries_left:
                    raise translated(error) from error
        raise AssertionError("the last try returns or raises")

    async def snapshot(self, verb: Callable[[Connection], Awaitable[T]]) -> T:
        """Run a verb that reads: all its statements see the same moment."""
        async with (
            self._connection(self._pool) as connection,
            _transaction(connection, isolation="repeatable_read", readonly=True),
        ):
            return await verb(connection)

    async def close(self) -> None:
        """Finish what was asked for, within reason, then let go."""
        self._closed = True
        try:
            async with asyncio.timeout(CLOSE_S):
                await self._idle.wait()
                await self._pool.close()
                await self._lifeline.close()
        except TimeoutError:
            self._pool.terminate()
            self._lifeline.terminate()

    @asynccontextmanager
    async def _connection(self, pool: asyncpg.Pool) -> AsyncIterator[Connection]:
        if self._closed:
            raise StoreUnavailable("the store has been closed")
        self._under_way += 1
        self._idle.clear()
        try:
            async with pool.acquire(timeout=self._wait_s) as connection:
                try:
                    yield connection
                except _UNANSWERED:
                    await self._distrust(connection)
                    raise
                except asyncpg.DataError:
                    # What the driver cannot send it finds out in the middle of sending: the next
                    # one to use the session would be inside a transaction that nobody has begun.
                    connection.terminate()
                    raise
        except _AGAIN:
            raise
        except FOREIGN as error:
            raise translated(error) from error
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

    async def _distrust(self, connection: Connection) -> None:
        """It gave no answer. Whoever is in between may have forgotten it, and then all the others
        too: each would cost a call that waits in vain. So new ones are made from now on.
        """
        connection.terminate()
        await self._pool.expire_connections()
        await self._lifeline.expire_connections()


async def _pool(url: str, hosts: PostgresHosts, settings: PoolSettings, size: int) -> asyncpg.Pool:
    pool = await asyncpg.create_pool(
        url,
        connect=hosts.connect,
        # A floor would be restored in the background, with a traceback in the log whenever the
        # database is away.
        min_size=0,
        max_size=size,
        timeout=settings.connect_s,
        command_timeout=settings.timeout_s,
        statement_cache_size=200 if settings.prepared else 0,
        server_settings=_session(settings),
        init=_learn_types,
        reset=_leave_as_it_is,
    )
    assert pool is not None
    return pool


@asynccontextmanager
async def _transaction(connection: Connection, **how: Any) -> AsyncIterator[None]:
    """The driver's own would ask for a rollback where nobody answers, and wait for that, too."""
    transaction = connection.transaction(**how)
    await transaction.start()
    try:
        yield
    except _UNANSWERED:
        raise  # the connection is ended, and the transaction with it
    except BaseException:
        await transaction.rollback()
        raise
    await transaction.commit()


def _session(settings: PoolSettings) -> dict[str, str]:
    """A pooler refuses the rest, and has an idle_transaction_timeout of its own."""
    if not settings.prepared:
        return {"application_name": "onthedot"}
    still_ms = f"{settings.still_s * 1_000:.0f}"
    return {
        "application_name": "onthedot",
        # Plans are pinned inside the functions; compiling costs more than it saves.
        "jit": "off",
        "idle_in_transaction_session_timeout": still_ms,
        "tcp_user_timeout": still_ms,
        # A connection whose call waited too long is ended without a word; so is what it asked for.
        "statement_timeout": f"{settings.timeout_s * 1_000:.0f}",
    }


async def _learn_types(connection: asyncpg.Connection) -> None:
    """The driver asks what a type is when it first meets one, by a query for which PostgreSQL
    may compile code for a second, and it asks on every connection. So it is made to ask once for
    all, where compiling is off: in one transaction, since a pooler may be in between.
    """
    async with connection.transaction():
        await connection.execute(SQL["schema.uncompiled"])
        await connection.fetchrow(SQL["schema.types"], *[()] * 4)
        if await connection.fetchval(SQL["schema.has_types"]):
            await connection.fetchrow(SQL["schema.own_types"], *[()] * 7)


async def _leave_as_it_is(connection: asyncpg.Connection) -> None:
    """Nothing of ours outlasts its transaction (a pooler would lose it), so that there is nothing
    to reset; the driver's own way is one more round trip a verb, a third of the time of most.
    """


_UNANSWERED = (TimeoutError, asyncio.CancelledError)
_AGAIN = (asyncpg.DeadlockDetectedError, asyncpg.CheckViolationError)
FOREIGN = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    # A connection that the server has ended, used before the driver has understood that.
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)

_OURS = {
    "OT001": Taken("a job was changed after its entry had been read"),
    "OT002": Taken("another scheduler took some of these entries"),
}
# A prepared statement that is not there, and one that is there already.
_NOT_OUR_SESSION = ("26000", "42P05")
_NOT_OURS_TO_SET = "unsupported startup parameter"
# Classes of SQLSTATE that say: the server or the way to it does not answer as it should just now.
_UNAVAILABLE = ("08", "57", "53", "25006", "25P03", "40", "55", "58")


def translated(error: Exception) -> Exception:
    """An error of the driver in our words; one that means a mistake of ours stays as it is."""
    state = getattr(error, "sqlstate", None) or ""
    if state in _OURS:
        return Taken(_OURS[state].message)
    if state == "OT003":
        return NodeDead(
            f"{error}: it was silent for longer than its lease",
            hint="It joins again under a new number by itself; check for long stalls if it recurs.",
        )
    if state == "OT007":
        return StoreUnavailable(
            "the database was restarted or replaced: the next heartbeat looks at it first",
            hint="Nothing is to be done; it takes a moment.",
        )
    if state == "OT006":
        return lease_lost()
    if state == "53100":
        return StoreFull(
            "the database's disk is full: nothing was written",
            hint="Free some space; the server goes on by itself.",
        )
    if state in _NOT_OUR_SESSION or _NOT_OURS_TO_SET in str(error):
        return StoreError(
            f"{_first_line(error)}; behind a pooler in transaction mode set prepared = no",
            hint="Sessions are ours for one transaction there: nothing is prepared or set in them.",
        )
    if state.startswith("28"):
        return StoreError(f"the database refuses us: {error}", hint="Check user and password.")
    if isinstance(error, asyncpg.ClientConfigurationError):
        return StoreError(f"the address of the database: {error}", hint="Check database.")
    if isinstance(error, asyncpg.InvalidCatalogNameError):
        return StoreError(f"{error}", hint="Make the database first: createdb NAME")
    answered = isinstance(error, asyncpg.PostgresError)
    if not answered or state.startswith(_UNAVAILABLE):
        silent = isinstance(error, TimeoutError)  # which says nothing itself
        why = "nothing came back in time" if silent else f"{type(error).__name__}: {error}"
        return StoreUnavailable(
            f"the database does not answer: {why}",
            hint="Check that PostgreSQL runs and can be reached; the server goes on by itself.",
        )
    return error


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
