"""Groups of writing verbs in one transaction, each in a savepoint of its own.

No verb can harm the others of its group, or whoever runs the group: whatever it raises is its own
answer. Where SQLite ends the whole transaction with it (a full disk, no memory, `insert or
rollback`, a statement that was broken off), the others are run again without it.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any, TypeVar

from onthedot.errors import OnthedotError, StoreError
from onthedot.store.sqlite.connecting import translated

T = TypeVar("T")
Verb = Callable[[sqlite3.Connection], T]


class WriteRequest:
    """A verb that somebody waits for. It may be run more than once, and is kept at most once."""

    __slots__ = ("error", "future", "loop", "result", "verb")

    def __init__(self, verb: Verb[Any], loop: asyncio.AbstractEventLoop) -> None:
        self.verb = verb
        self.loop = loop
        self.future: asyncio.Future[Any] = loop.create_future()
        self.result: Any = None
        self.error: Exception | None = None


def commit_group(connection: sqlite3.Connection, group: Sequence[WriteRequest]) -> None:
    """Commit them together. When one of them has ended the transaction, it has failed alone: the
    others are committed in halves, so that many such verbs cost n log n and not n².
    """
    culprit = None
    try:
        connection.execute("begin immediate")
        culprit = next((each for each in group if not _survives(connection, each)), None)
        if culprit is None:
            connection.execute("commit")
    except BaseException as error:  # noqa: BLE001  (whatever it was, they wait for an answer)
        # Whatever the verbs returned, nothing of the group was kept.
        fail(group, answerable(error))
        culprit = None
    if connection.in_transaction:
        connection.execute("rollback")
    if culprit is not None:
        others = [request for request in group if request is not culprit]
        half = len(others) // 2
        for part in (others[:half], others[half:]):
            if part:
                commit_group(connection, part)


def _survives(connection: sqlite3.Connection, request: WriteRequest) -> bool:
    """Run one verb; whether the transaction is still there."""
    request.error = None
    connection.execute("savepoint verb")
    try:
        request.result = request.verb(connection)
    except BaseException as error:  # noqa: BLE001  (it is the answer)
        request.error = answerable(error)
    if not connection.in_transaction:
        request.error = request.error or StoreError("the verb has ended its transaction")
        return False
    if request.error is not None:
        connection.execute("rollback to verb")
    connection.execute("release verb")
    return True


def answerable(error: BaseException) -> Exception:
    """In our words, and as something that a future can hand over: a SystemExit would end the event
    loop of whoever waits, and a StopIteration is not taken at all, so that he would wait for ever.
    """
    if isinstance(error, sqlite3.Error):
        return translated(error)
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    wrapped = StoreError(f"a verb was broken off by {type(error).__name__}: {error}")
    wrapped.__cause__ = error
    return wrapped


def fail(group: Iterable[WriteRequest], error: Exception) -> None:
    """Each gets an error of its own: a shared one would collect the traces of all who raise it."""
    for request in group:
        request.error = copy(error) if isinstance(error, OnthedotError) else error


def answer(group: Iterable[WriteRequest]) -> None:
    """Hand the results over, with one call into each event loop that waits."""
    by_loop: dict[asyncio.AbstractEventLoop, list[WriteRequest]] = {}
    for request in group:
        by_loop.setdefault(request.loop, []).append(request)
    for loop, requests in by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle, requests)
        except RuntimeError:  # the loop was closed, and nobody waits there any more
            continue


def _settle(requests: list[WriteRequest]) -> None:
    for request in requests:
        if request.future.done():  # its caller was cancelled and has stopped waiting
            continue
        if request.error is not None:
            request.future.set_exception(request.error)
        else:
            request.future.set_result(request.result)
