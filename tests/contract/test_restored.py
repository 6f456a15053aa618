"""What a store is told after it was restored from a backup, and what it then promises."""

from __future__ import annotations

from onthedot.core.instants import SECOND
from onthedot.core.sightings import EPOCH_ZERO, epoch_at
from tests.support.builders import a_job, a_node, a_run, facts, lease

NOW = EPOCH_ZERO + 1_000_000 * 60 * SECOND


async def test_numbers_given_out_after_a_restore_were_never_given_out_before(store, clock):
    before = await a_job(store, clock)

    epoch = await store.upkeep.restored(now=NOW, chance=7)

    after = await a_job(store, clock)
    assert epoch == epoch_at(NOW)
    assert after.id >> 32 == epoch > before.id >> 32
    assert await store.upkeep.restored(now=NOW, chance=7) == epoch + 1
    assert (await a_job(store, clock)).id >> 32 == epoch + 1


async def test_two_restores_of_one_backup_in_the_same_minute_give_out_other_numbers(
    place, clock, tmp_path
):
    (tmp_path / "other").mkdir()
    first, second = await place.open(), await place.install(tmp_path / "other")

    assert await first.upkeep.restored(now=NOW, chance=1_000_000) == epoch_at(NOW)
    assert await second.upkeep.restored(now=NOW, chance=2_000_000) == epoch_at(NOW)

    assert abs((await a_job(first, clock)).id - (await a_job(second, clock)).id) > 100_000


async def test_ids_of_what_is_in_the_backup_stay_as_they_are(store, clock):
    installation = await store.upkeep.installation()
    job, run = await a_run(store, clock)

    await store.upkeep.restored(now=NOW, chance=7)

    node = await a_node(store, clock)
    [held] = await lease(store, clock, node)
    assert (held.job, held.run) == (job, run)
    assert await store.upkeep.installation() == installation


async def test_a_restore_declares_every_node_of_the_backup_dead(store, clock):
    old = await a_node(store, clock)
    await a_run(store, clock)
    assert len(await lease(store, clock, old)) == 1

    await store.upkeep.restored(now=NOW, chance=7)

    node = await store.nodes.join(facts("after"), now=NOW)
    assert [each.number for each in await store.nodes.all() if not each.dead] == [node]
    assert node > old
    assert (await store.runs.rescue(limit=10, now=NOW)).taken == 1


async def test_a_restore_leaves_word_of_what_is_lost(store, clock):
    await a_node(store, clock)
    last_beat = clock.now()
    assert await store.upkeep.gaps() == []

    epoch = await store.upkeep.restored(now=NOW, chance=7)

    [gap] = await store.upkeep.gaps()
    assert (gap.epoch, gap.noticed_at) == (epoch, NOW)
    assert (gap.since, gap.until) == (last_beat, max(NOW, last_beat))
    assert gap.reason == "a backup was restored"


async def test_a_copy_gets_an_installation_id_of_its_own(store, clock):
    await store.upkeep.renew_installation("0123456789")

    assert await store.upkeep.installation() == "0123456789"
