"""Edits of a job by people: what a request comes to is worked out before the store is asked.

To check a definition may take thousands of steps (finding the last of `maxRuns`, say), and
whoever holds the store's lock meanwhile holds up every claim of its shard.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from onthedot.core import editing
from onthedot.core.editing import Change, CurrentJob
from onthedot.core.instants import Instant
from onthedot.core.model import Definition, Job
from onthedot.errors import VersionConflict
from onthedot.store.contract import Store
from onthedot.store.refusals import key_taken, version_conflict

TRIES_MAX: Final = 10
"""An edit that names no version is made on whatever version there is, unless others are always
faster.
"""


class Edit(NamedTuple):
    """A job before and after. They are the same if there was nothing to change."""

    old: Job
    new: Job


async def edit_job(
    store: Store,
    job: int,
    patched: Callable[[Definition], Definition],
    *,
    now: Instant,
    expected: int | None = None,
    dry_run: bool = False,
) -> Edit:
    """Raises what `patched` raises, NotFound, VersionConflict or KeyTaken. An edit that changes
    nothing makes no version.
    """
    for _ in range(TRIES_MAX):
        old = await store.jobs.get(job)
        if expected is not None and expected != old.version:
            raise version_conflict(old.version, expected)
        definition = patched(old.definition)
        if definition == old.definition:
            return Edit(old, old)
        try:
            return await _write(store, old, definition, now=now, dry_run=dry_run)
        except VersionConflict:
            if expected is not None:
                raise
    raise VersionConflict(
        f"the job was edited by others {TRIES_MAX} times while this edit was made",
        hint="Repeat the edit.",
        field="version",
    )


async def _write(
    store: Store, old: Job, definition: Definition, *, now: Instant, dry_run: bool
) -> Edit:
    decided: list[Change] = []

    def decide(current: CurrentJob) -> Change | None:
        decided[:] = [editing.edit(current, definition)]
        return None if dry_run else decided[0]

    written = await store.jobs.change(old.id, decide, now=now, expected=old.version)
    new = decided[0].job if dry_run else written
    assert new is not None, "an edit leaves a job"
    if dry_run:
        await _refuse_taken_key(store, new)
    return Edit(old, new)


async def _refuse_taken_key(store: Store, job: Job) -> None:
    """What the store would find when it writes."""
    key = job.definition.key
    if key is None:
        return
    holder = await store.jobs.keyed(job.definition.namespace, key)
    if holder is not None and holder.id != job.id:
        raise key_taken(key, holder.id)
