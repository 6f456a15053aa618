"""An edit is worked out before the store is asked, and again if somebody else was faster."""

from __future__ import annotations

import pytest

from onthedot.core.model import Definition
from onthedot.errors import VersionConflict
from onthedot.store.contract import Store
from onthedot.usecases.edits import TRIES_MAX, edit_job
from tests.support.builders import a_job, edit
from tests.support.clock import ManualClock


class Others:
    """Somebody who edits the same job whenever we have just read it, `times` times."""

    def __init__(self, store: Store, clock: ManualClock, times: int) -> None:
        self.jobs, self.change = store.jobs, store.jobs.change
        self.store, self.clock, self.times = store, clock, times

    async def get(self, job: int) -> object:
        found = await self.jobs.get(job)
        if self.times:
            self.times -= 1
            await edit(self.store, self.clock, found, name=f"theirs {self.times}")
        return found


@pytest.fixture
def contended(store: Store, clock: ManualClock):
    def made(times: int) -> object:
        others = Others(store, clock, times)
        return type("Contended", (), {"jobs": others})()

    return made


def prioritized(definition: Definition) -> Definition:
    return definition._replace(priority=2)


async def test_an_edit_that_names_no_version_is_made_on_what_others_left(store, clock, contended):
    job = await a_job(store, clock)

    made = await edit_job(contended(2), job.id, prioritized, now=clock.now())

    assert (made.new.version, made.new.definition.name) == (4, "theirs 0")
    assert made.new.definition.priority == 2


async def test_an_edit_of_a_named_version_is_refused_if_others_were_faster(store, clock, contended):
    job = await a_job(store, clock)

    with pytest.raises(VersionConflict, match="version 2, not 1"):
        await edit_job(contended(1), job.id, prioritized, now=clock.now(), expected=1)

    assert (await store.jobs.get(job.id)).definition.priority == job.definition.priority


async def test_an_edit_gives_up_when_others_are_always_faster(store, clock, contended):
    job = await a_job(store, clock)

    with pytest.raises(VersionConflict, match="edited by others"):
        await edit_job(contended(TRIES_MAX + 1), job.id, prioritized, now=clock.now())


async def test_a_dry_run_says_what_a_job_would_become_and_writes_nothing(store, clock):
    job = await a_job(store, clock)

    made = await edit_job(store, job.id, prioritized, now=clock.now(), dry_run=True)

    assert (made.old, made.new.definition.priority) == (job, 2)
    assert await store.jobs.get(job.id) == job
