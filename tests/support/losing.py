"""A store on a file in which SQLite ends the transaction of every writing verb, twice, before it is
let through: at its first write, and after its last one.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from pathlib import Path
from typing import Any, TypeVar

from onthedot.errors import OnthedotError
from onthedot.store.sqlite import SqliteStore, open_store
from onthedot.store.sqlite.database import FileDatabase
from onthedot.store.sqlite.group_commit import Verb

T = TypeVar("T")

TABLES = "select name from sqlite_schema where type = 'table' and name not glob 'sqlite_*'"
OWN = ("losing", "innocent")
GATE_S = 30.0


async def a_losing_store(folder: Path) -> SqliteStore:
    path = folder / "onthedot.db"
    if not path.exists():
        path.write_bytes(await _template(folder))
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute("update installation set id = lower(hex(randomblob(5)))")
            db.commit()
    return SqliteStore(LosingDatabase(str(path)))


TEMPLATES: list[bytes] = []


async def _template(folder: Path) -> bytes:
    """An empty database with triggers that end the transaction: making them takes a while."""
    if not TEMPLATES:
        path = folder / "template.db"
        await (await open_store(str(path))).upkeep.close()
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute("begin")
            for table in _ours(db):
                for action in ("insert", "update", "delete"):
                    db.execute(
                        f"create trigger lost_{table}_{action} before {action} on {table}"
                        " when exists (select 1 from losing)"
                        " begin select raise(rollback, 'the transaction is gone'); end"
                    )
            db.execute("create table losing (armed integer primary key)")
            db.execute("create table innocent (word text)")
            db.commit()
        TEMPLATES.append(path.read_bytes())
    return TEMPLATES[0]


def _ours(db: sqlite3.Connection) -> list[str]:
    return [name for (name,) in db.execute(TABLES) if name not in OWN]


class LosingDatabase(FileDatabase):
    """Every write: what the verb returns, after it was lost with its transaction, in a group with
    others, which were not."""

    def __init__(self, path: str) -> None:
        self._turn = asyncio.Lock()
        self._asked = 0
        super().__init__(path)
        self._connection.execute("pragma synchronous=off")  # nobody pulls the plug here

    async def write(self, verb: Verb[T]) -> T:
        self._asked += 1
        try:
            async with self._turn:
                for early in (True, False):
                    await self._lose_in_vain(verb, early=early)
                return await super().write(verb)
        finally:
            self._asked -= 1

    async def close(self) -> None:
        """What was asked for before is done, although it waits for its turn."""
        while self._asked:
            async with self._turn:
                pass
        await super().close()

    async def _lose_in_vain(self, verb: Verb[Any], *, early: bool) -> None:
        before = await super().read(self._content)
        words = await self._lose(verb, early=early)
        assert await super().read(self._content) == before, "a lost verb has left something"
        assert words == ["first", "second"], "others of its group were not kept"

    async def _lose(self, verb: Verb[Any], *, early: bool) -> list[str]:
        gate, write = threading.Event(), super().write
        group = [
            asyncio.create_task(write(each))
            for each in (
                lambda db: gate.wait(GATE_S),
                lambda db: db.execute("insert into innocent values ('first')").rowcount,
                lambda db: _lost(db, verb, early),
                lambda db: db.execute("insert into innocent values ('second')").rowcount,
            )
        ]
        await asyncio.sleep(0)  # all of them have been put into the queue
        gate.set()
        _, one, lost, two = await asyncio.gather(*group, return_exceptions=True)
        assert isinstance(lost, sqlite3.IntegrityError), lost
        assert (one, two) == (1, 1)
        return await super().write(_taken)

    def _content(self, db: sqlite3.Connection) -> list[list[Any]]:
        return [db.execute(f"select * from {table}").fetchall() for table in _ours(db)]


def _lost(db: sqlite3.Connection, verb: Verb[Any], early: bool) -> None:
    if early:
        db.execute("insert into losing values (1)")
    with contextlib.suppress(OnthedotError, sqlite3.Error):
        verb(db)
    if db.in_transaction:
        db.execute("insert or ignore into losing values (1)")
    db.execute("insert or rollback into losing values (1), (1)")


def _taken(db: sqlite3.Connection) -> list[str]:
    found = [word for (word,) in db.execute("select word from innocent order by rowid")]
    db.execute("delete from innocent")
    return found
