"""Jobs that code declares, brought into the store: made, changed, or left as they are.

A declared job is known by its key. What people have set by hand stays: a paused job stays paused.
Nothing is ever deleted: what is no longer declared is told, and people decide. A job that calls a
URL was made by hand and is left alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

import msgspec

from onthedot.clock import Clock
from onthedot.core import editing
from onthedot.core.declared import DeclaredJob
from onthedot.core.editing import Change, CurrentJob
from onthedot.core.instants import Instant
from onthedot.core.model import Definition, Job, NamedCalendar
from onthedot.errors import CannotStart, KeyTaken, OnthedotError
from onthedot.ids import job_id
from onthedot.observe.events import log, warn
from onthedot.store.contract import Store
from onthedot.usecases.calendars import named
from onthedot.wire.definitions import definition_of
from onthedot.wire.reading import read
from onthedot.wire.schedules import kept
from onthedot.wire.shapes import JobIn


async def declare(
    store: Store, jobs: Iterable[Mapping[str, Any]], *, app: str, clock: Clock
) -> DeclaredJob:
    """Make every declared job what the code says. Raises CannotStart if the code says nonsense."""
    counts: Counter[_Came] = Counter()
    ours: list[int] = []
    taken: list[str] = []
    for job in jobs:
        calendar = await named(store, job.get("calendar"))
        definition = _definition(job, app, clock.now(), calendar)
        came, number, key = await _bring(store, definition, clock.now())
        counts[came] += 1
        if came is _Came.TAKEN:
            warn("app.key_taken", app=app, key=key)
            taken.append(key)
        else:
            ours.append(number)
        if came is _Came.ADDED:
            log("app.job_added", app=app, key=key)
        elif came is _Came.CHANGED:
            log("app.job_changed", app=app, key=key)
    gone = await store.jobs.declare(app, ours, now=clock.now())
    for each in gone:
        warn("app.job_gone", app=app, key=each.definition.key, job=job_id(each.id))
    return DeclaredJob(
        app=app,
        added=counts[_Came.ADDED],
        changed=counts[_Came.CHANGED],
        unchanged=counts[_Came.UNCHANGED],
        gone=tuple(each.definition.key or job_id(each.id) for each in gone),
        taken=tuple(taken),
    )


class _Came(Enum):
    """What a declaration came to."""

    ADDED = "added"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    TAKEN = "taken"


async def _bring(store: Store, definition: Definition, now: Instant) -> tuple[_Came, int, str]:
    key = definition.key
    assert key is not None, "a declared job has a key"
    try:
        made = (await store.jobs.create(definition, now=now)).job
        assert made is not None
        return _Came.ADDED, made.id, key
    except KeyTaken:
        found = await store.jobs.keyed(definition.namespace, key)
    if found is None:  # deleted just now: it comes back with the next start
        return _Came.TAKEN, 0, key
    if not found.definition.handler:  # it calls a URL: somebody has made it by hand
        return _Came.TAKEN, found.id, key
    changed = await _change(store, found, definition, now)
    return _Came.CHANGED if changed else _Came.UNCHANGED, found.id, key


def _definition(
    job: Mapping[str, Any], app: str, now: Instant, calendar: NamedCalendar | None
) -> Definition:
    try:
        asked = read(msgspec.json.encode(job), JobIn)
        return definition_of(asked, now=now, calendar=calendar)
    except (OnthedotError, TypeError) as error:
        raise CannotStart(
            f"{app} declares '{job.get('name')}' wrongly: {error}",
            hint=getattr(error, "hint", "") or "Fix the arguments of @app.job.",
        ) from None


async def _change(store: Store, found: Job, wanted: Definition, now: Instant) -> bool:
    def decide(current: CurrentJob) -> Change:
        return editing.edit(current, _instead_of(current.job.definition, wanted))

    if _instead_of(found.definition, wanted) == found.definition:
        return False
    await store.jobs.change(found.id, decide, now=now)
    return True


def _instead_of(old: Definition, wanted: Definition) -> Definition:
    return wanted._replace(paused=old.paused, schedule=kept(old, wanted))
