"""Jobs that code declares, brought into the store: made, changed, or left as they are.

A declared job is known by its key. What people have set by hand stays: a paused job stays paused.
Nothing is ever deleted: what is no longer declared may be somebody else's by now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from onthedot.clock import Clock
from onthedot.core import editing
from onthedot.core.editing import Change, Standing
from onthedot.core.instants import Instant
from onthedot.core.model import Definition
from onthedot.errors import CannotStart, KeyTaken, OnthedotError
from onthedot.observe.events import log
from onthedot.store.contract import Store
from onthedot.wire.definitions import definition_of
from onthedot.wire.jobs import JobIn
from onthedot.wire.reading import read
from onthedot.wire.schedules import kept


async def declare(
    store: Store, jobs: Iterable[Mapping[str, Any]], *, app: str, clock: Clock
) -> None:
    """Make every declared job what the code says. Raises CannotStart if the code says nonsense."""
    for job in jobs:
        now = clock.now()
        definition = _definition(job, app, now)
        try:
            await store.jobs.create(definition, now=now)
            log("app.job_added", app=app, key=definition.key)
        except KeyTaken:
            if await _change(store, definition, now):
                log("app.job_changed", app=app, key=definition.key)


def _definition(job: Mapping[str, Any], app: str, now: Instant) -> Definition:
    try:
        return definition_of(read(msgspec.json.encode(job), JobIn), now=now)
    except (OnthedotError, TypeError) as error:
        raise CannotStart(
            f"{app} declares '{job.get('name')}' wrongly: {error}",
            hint=getattr(error, "hint", "") or "Mend the arguments of @app.job.",
        ) from None


async def _change(store: Store, wanted: Definition, now: Instant) -> bool:
    assert wanted.key is not None
    found = await store.jobs.keyed(wanted.namespace, wanted.key)
    if found is None:  # deleted just now: it comes back with the next start
        return False

    def decide(standing: Standing) -> Change:
        return editing.edit(standing, _instead_of(standing.job.definition, wanted))

    if _instead_of(found.definition, wanted) == found.definition:
        return False
    await store.jobs.change(found.id, decide, now=now)
    return True


def _instead_of(old: Definition, wanted: Definition) -> Definition:
    return replace(wanted, paused=old.paused, schedule=kept(old, wanted))
