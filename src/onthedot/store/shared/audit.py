"""The books of jobs, for auditing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from onthedot.core.audit import AuditSnapshot, RecordedOccurrence
from onthedot.core.instants import Instant
from onthedot.core.model import occurrence, shard_of
from onthedot.store.audit_rows import LIVE_MAX, VERSIONS_MAX, Rows, books_of, fate_of
from onthedot.store.refusals import no_such_job
from onthedot.store.shared.steps import Session, Steps, row, rows, value

Bounds = Mapping[str, int]


def _no_bounds(until: Instant) -> Bounds:
    return {}


class SharedAudit:
    """`bounds`: what else a store wants to know to find the entries that are due by an instant."""

    def __init__(self, session: Session, bounds: Callable[[Instant], Bounds] = _no_bounds) -> None:
        self._session = session
        self._bounds = bounds

    async def jobs(self, *, after: int, limit: int) -> list[int]:
        found = await self._session.rows("audit.jobs", after=after, limit=limit)
        return [number for (number,) in found]

    async def books(self, job: int, *, until: Instant, unfired: bool) -> AuditSnapshot:
        bounds = self._bounds(until) if unfired else None
        return await self._session.read(lambda: _books(job, until, bounds))

    async def fates(self, job: int, *, after: Instant, limit: int) -> list[RecordedOccurrence]:
        return await self._session.read(lambda: _fates(job, occurrence(after), limit))


def _books(job: int, until: Instant, bounds: Bounds | None) -> Steps[AuditSnapshot]:
    versions = (yield from rows("audit.versions", job=job, limit=VERSIONS_MAX))[::-1]
    versions += yield from rows("audit.current", job=job)
    if not versions:
        raise no_such_job(job)
    unfired = []
    if bounds is not None:
        due = {"job": job, "shard": shard_of(job), "until": until, **bounds}
        unfired = yield from rows("audit.unfired", **due)
    found = Rows(
        versions=versions,
        live=(yield from rows("audit.live", job=job, limit=LIVE_MAX)),
        created_at=(yield from value("audit.created_at", job=job)),
        edge=(yield from value("audit.edge")),
        aside=(yield from rows("audit.aside", job=job)),
        unfired=unfired,
        told=(yield from rows("zones.told", until=until)),
        link=(yield from row("audit.link", job=job)),
    )
    return books_of(found, now=until)


def _fates(job: int, after: int, limit: int) -> Steps[list[RecordedOccurrence]]:
    found = yield from rows("audit.fate_before", job=job, after=after)
    found += yield from rows("audit.fates", job=job, after=after, limit=limit)
    return [fate_of(each) for each in found]
