"""What the store knows of the zones in use: whose word counts, and what is kept."""

from __future__ import annotations

import pytest

from onthedot.core.schedules import Cron
from onthedot.core.zoning import KnownZone
from onthedot.store.contract import Store
from onthedot.store.zones import MOVES_KEPT
from tests.contract.test_zones import (
    DUBAI,
    FOUR,
    NINE,
    PLENTY,
    THREE,
    _own_zones,
    change,
    cron,
    known,
)
from tests.support.builders import a_job, every
from tests.support.clock import START, ManualClock

__all__ = ["_own_zones"]


async def test_an_older_release_changes_nothing_and_the_same_again_neither(
    store: Store, clock: ManualClock
) -> None:
    await known(store, FOUR, "2026b")

    for release, offsets in (("2026a", THREE), ("2026b", FOUR)):
        zone = KnownZone(DUBAI, release, offsets)
        assert await store.zones.record([zone], [DUBAI], now=clock.now()) == []

    assert await store.zones.all() == [KnownZone(DUBAI, "2026b", FOUR)]
    assert await store.zones.remake(limit=PLENTY, now=clock.now()) is None


async def test_a_renewed_row_is_no_change(store: Store, clock: ManualClock) -> None:
    await known(store, FOUR)
    longer = FOUR._replace(end=FOUR.end + 1)

    assert await store.zones.record([KnownZone(DUBAI, "2026b", longer)], (), now=START) == []

    assert await store.zones.all() == [KnownZone(DUBAI, "2026b", longer)]
    assert await store.zones.remake(limit=PLENTY, now=clock.now()) is None


async def test_only_the_newest_moves_are_kept(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = type(store.zones).__module__
    assert MOVES_KEPT == 1_000
    monkeypatch.setattr(f"{module}.MOVES_KEPT", 3)
    await known(store, FOUR)
    for _ in range(5):
        await a_job(store, clock, schedule=cron(NINE), timezone=DUBAI)

    moves = await change(store, clock, THREE)

    assert await store.zones.moves(limit=10) == moves[:-4:-1]


async def test_the_zones_in_use_are_those_of_the_rules(store: Store, clock: ManualClock) -> None:
    await a_job(store, clock, schedule=cron(NINE), timezone=DUBAI)
    await a_job(store, clock, schedule=every(60))
    await a_job(store, clock, schedule=Cron.parse(NINE, "Europe/Berlin"))

    first = await store.zones.used(after=0, limit=2)
    second = await store.zones.used(after=first.last, limit=2)

    assert first.zones == {DUBAI}
    assert second.zones == {"Europe/Berlin"}
    assert await store.zones.used(after=second.last, limit=2) == (set(), second.last)
