"""The books of jobs on SQLite, for auditing."""

from __future__ import annotations

import sqlite3

from onthedot.core.audit import AuditSnapshot, RecordedOccurrence
from onthedot.core.instants import Instant
from onthedot.core.model import occurrence, shard_of
from onthedot.store.audit_rows import LIVE_MAX, VERSIONS_MAX, Rows, books_of, fate_of
from onthedot.store.refusals import no_such_job
from onthedot.store.sqlite.database import SqliteDatabase
from onthedot.store.sqlite.statements import SQL


class SqliteAudit:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def jobs(self, *, after: int, limit: int) -> list[int]:
        bounds = {"after": after, "limit": limit}
        return await self._database.read(
            lambda db: [number for (number,) in db.execute(SQL["audit.jobs"], bounds)]
        )

    async def books(self, job: int, *, until: Instant, unfired: bool) -> AuditSnapshot:
        return await self._database.read(lambda db: _books(db, job, until, unfired))

    async def fates(self, job: int, *, after: Instant, limit: int) -> list[RecordedOccurrence]:
        return await self._database.read(lambda db: _fates(db, job, after, limit))


def _books(db: sqlite3.Connection, job: int, until: Instant, unfired: bool) -> AuditSnapshot:
    of_job = {"job": job}
    versions = db.execute(SQL["audit.versions"], of_job | {"limit": VERSIONS_MAX}).fetchall()[::-1]
    versions += db.execute(SQL["audit.current"], of_job).fetchall()
    if not versions:
        raise no_such_job(job)
    created = db.execute(SQL["audit.created_at"], of_job).fetchone()
    (edge,) = db.execute(SQL["audit.edge"]).fetchone()
    entries = []
    if unfired:
        which = of_job | {"shard": shard_of(job), "until": until}
        entries = db.execute(SQL["audit.unfired"], which).fetchall()
    rows = Rows(
        versions=versions,
        live=db.execute(SQL["audit.live"], of_job | {"limit": LIVE_MAX}).fetchall(),
        created_at=None if created is None else created[0],
        edge=edge,
        aside=db.execute(SQL["audit.aside"], of_job).fetchall(),
        unfired=entries,
        told=db.execute(SQL["zones.told"], {"until": until}).fetchall(),
        link=db.execute(SQL["audit.link"], of_job).fetchone(),
    )
    return books_of(rows, now=until)


def _fates(
    db: sqlite3.Connection, job: int, after: Instant, limit: int
) -> list[RecordedOccurrence]:
    which = {"job": job, "after": occurrence(after)}
    rows = db.execute(SQL["audit.fate_before"], which).fetchall()
    rows += db.execute(SQL["audit.fates"], which | {"limit": limit}).fetchall()
    return [fate_of(row) for row in rows]
