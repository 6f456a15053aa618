"""Time zones: when the offsets of one change, its coming occurrences move, and nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from onthedot.core.instants import DAY, HOUR, MINUTE, SECOND, Instant, format_instant
from onthedot.core.model import Job, is_occurrence
from onthedot.core.schedules import Cron, Repeat, Step, zones
from onthedot.core.schedules.zones import Offsets
from onthedot.core.states import Status
from onthedot.core.zoning import AGAIN_US, KnownZone, years_around
from onthedot.errors import Taken
from onthedot.store.claims import Lessee
from onthedot.store.contract import Store
from onthedot.store.zones import Move
from tests.contract.test_audit import audited
from tests.support.builders import (
    a_job,
    a_node,
    claim,
    edit,
    every,
    finish,
    ledger_of,
    pause,
    plan,
    resume,
)
from tests.support.clock import START, ManualClock

DUBAI = "Asia/Dubai"
NINE = "0 9 * * *"
PLENTY = 1_000


@pytest.fixture(autouse=True)
def _own_zones() -> Iterator[None]:
    yield
    zones.prefer({})


def east(hours: float, *changes: tuple[Instant, float]) -> Offsets:
    """So many hours east of Greenwich, and from these instants on so many others."""
    begin, end = years_around(START)
    later = ((at // SECOND, int(offset * 3600)) for at, offset in changes)
    return Offsets(begin, end, ((begin, int(hours * 3600)), *later))


FOUR = east(4)
THREE = east(3)
FIVE = east(5)


async def known(store: Store, offsets: Offsets, release: str = "2026a") -> None:
    """All nodes work by these offsets, and the store knows it."""
    zones.prefer({DUBAI: offsets})
    await store.zones.record([KnownZone(DUBAI, release, offsets)], (), now=START)


async def change(
    store: Store, clock: ManualClock, offsets: Offsets, release: str = "2026b"
) -> list[Move]:
    """A node with these offsets has started, and looks after all entries."""
    zones.prefer({DUBAI: offsets})
    await store.zones.record([KnownZone(DUBAI, release, offsets)], [DUBAI], now=clock.now())
    return await remake(store, clock)


async def remake(store: Store, clock: ManualClock, *, limit: int = PLENTY) -> list[Move]:
    moves: list[Move] = []
    for _ in range(1_000):
        remade = await store.zones.remake(limit=limit, now=clock.now())
        if remade is None:
            return moves
        moves += remade.moves
    raise AssertionError("it never ends")


def cron(expression: str, **rules: str) -> Cron:
    return Cron.parse(expression, DUBAI, **rules)  # type: ignore[arg-type]


async def fates(store: Store, clock: ManualClock, job: Job) -> list[tuple[str, Status]]:
    """What the ledger says of the occurrences, oldest first."""
    runs = [run for run in await ledger_of(store, clock, job.id) if is_occurrence(run.run)]
    return [(format_instant(run.due)[5:16], run.status) for run in reversed(runs)]


async def test_the_coming_occurrence_moves_with_its_zone_and_runs_once(
    store: Store, clock: ManualClock
) -> None:
    node = await a_node(store, clock)
    await known(store, FOUR)
    job = await a_job(store, clock, name="report", schedule=cron(NINE), timezone=DUBAI)

    (move,) = await change(store, clock, THREE)
    clock.advance(5 * HOUR + MINUTE)
    early = await claim(store, clock, node)
    clock.advance(HOUR)
    await finish(store, clock, node, *await claim(store, clock, node))

    assert move == Move(
        *(START, DUBAI, "2026b", job.id, "report", 2),
        *(START + 5 * HOUR, START + 6 * HOUR),
    )
    assert await store.zones.moves(limit=10) == [move]
    assert early == []
    assert await fates(store, clock, job) == [("03-01T06:00", Status.SUCCEEDED)]
    assert (await audited(store, clock, job)).faults.total() == 0


async def test_an_instant_that_has_passed_by_the_new_offsets_is_due_at_once(
    store: Store, clock: ManualClock
) -> None:
    node = await a_node(store, clock)
    await known(store, FOUR)
    job = await a_job(store, clock, schedule=cron(NINE), timezone=DUBAI)
    clock.advance(4 * HOUR + 30 * MINUTE)
    await claim(store, clock, node)

    (move,) = await change(store, clock, FIVE)
    await finish(store, clock, node, *await claim(store, clock, node))
    clock.advance(DAY)
    await claim(store, clock, node)

    assert (move.old, move.new) == (START + 5 * HOUR, START + 4 * HOUR)
    assert [due for due, _ in await fates(store, clock, job)] == ["03-01T04:00", "03-02T04:00"]


async def test_what_has_run_for_a_day_does_not_run_again_for_that_day(
    store: Store, clock: ManualClock
) -> None:
    """The law changed days ago, and the news of it comes late."""
    node = await a_node(store, clock)
    await known(store, FOUR)
    job = await a_job(store, clock, schedule=cron(NINE), timezone=DUBAI)
    clock.advance(5 * HOUR)
    await finish(store, clock, node, *await claim(store, clock, node))
    clock.advance(7 * HOUR)

    (move,) = await change(store, clock, THREE)
    now_due = await claim(store, clock, node)
    clock.advance(DAY)
    await claim(store, clock, node)

    assert (move.old, move.new) == (START + DAY + 5 * HOUR, START + DAY + 6 * HOUR)
    assert now_due == []
    assert [due for due, _ in await fates(store, clock, job)] == ["03-01T05:00", "03-02T06:00"]


async def test_what_fell_due_while_nobody_was_there_moves_too(
    store: Store, clock: ManualClock
) -> None:
    node = await a_node(store, clock)
    await known(store, FOUR)
    later = await a_job(store, clock, schedule=cron(NINE), timezone=DUBAI)
    earlier = await a_job(store, clock, schedule=cron("0 10 * * *"), timezone=DUBAI)
    clock.advance(8 * HOUR)

    moves = await change(store, clock, east(4, (START - DAY, 3)))
    await claim(store, clock, node)

    assert {(move.job, move.new) for move in moves} == {
        (later.id, START + 6 * HOUR),
        (earlier.id, START + 7 * HOUR),
    }
    assert [due for due, _ in await fates(store, clock, later)] == ["03-01T06:00"]
    assert [due for due, _ in await fates(store, clock, earlier)] == ["03-01T07:00"]


async def test_an_instant_that_has_its_fate_keeps_it_and_gets_no_second_one(
    store: Store, clock: ManualClock
) -> None:
    """Every hour from one to twelve: one hour off, most instants are the same ones."""
    node = await a_node(store, clock)
    await known(store, FOUR)
    job = await a_job(store, clock, schedule=cron("0 1-12 * * *"), timezone=DUBAI, catch_up="all")
    for _ in range(3):
        clock.advance(HOUR)
        await finish(store, clock, node, *await claim(store, clock, node))

    moves = await change(store, clock, FIVE)
    for _ in range(3):
        clock.advance(HOUR)
        await finish(store, clock, node, *await claim(store, clock, node))

    dues = [due for due, _ in await fates(store, clock, job)]
    assert moves == []
    assert dues == [f"03-01T0{hour}:00" for hour in range(1, 7)]
    assert (await audited(store, clock, job)).faults.total() == 0


async def test_jobs_that_the_change_does_not_touch_keep_their_version(
    store: Store, clock: ManualClock
) -> None:
    await known(store, FOUR)
    jobs = [
        await a_job(store, clock, schedule=cron("*/15 * * * *"), timezone=DUBAI),
        await a_job(store, clock, schedule=Cron.parse(NINE, "Europe/Berlin")),
        await a_job(store, clock, schedule=every(60), timezone=DUBAI),
        await a_job(store, clock, schedule=Repeat(START, Step(us=HOUR), DUBAI), timezone=DUBAI),
        await pause(store, clock, await a_job(store, clock, schedule=cron(NINE), timezone=DUBAI)),
    ]

    moves = await change(store, clock, THREE)

    assert moves == []
    assert [await store.jobs.get(job.id) for job in jobs] == jobs


async def test_a_paused_job_resumes_by_the_new_offsets(store: Store, clock: ManualClock) -> None:
    node = await a_node(store, clock)
    await known(store, FOUR)
    job = await a_job(store, clock, schedule=cron(NINE), timezone=DUBAI)
    await pause(store, clock, job)
    await change(store, clock, THREE)

    await resume(store, clock, job)
    clock.advance(6 * HOUR)
    await claim(store, clock, node)

    assert [due for due, _ in await fates(store, clock, job)] == ["03-01T06:00"]


async def test_calendar_steps_move_too(store: Store, clock: ManualClock) -> None:
    await known(store, FOUR)
    monthly = Repeat(START, Step(months=1), DUBAI, after_start=True)
    await a_job(store, clock, schedule=monthly, timezone=DUBAI)

    (move,) = await change(store, clock, east(4, (START + DAY, 3)))

    assert (move.old, move.new) == (START + 31 * DAY, START + 31 * DAY + HOUR)


async def test_the_last_of_max_runs_moves_and_none_is_lost_or_added(
    store: Store, clock: ManualClock
) -> None:
    node = await a_node(store, clock)
    await known(store, FOUR)
    job = await a_job(store, clock, schedule=cron(NINE), timezone=DUBAI, max_runs=2)

    await change(store, clock, THREE)
    clock.advance(AGAIN_US)
    again = await remake(store, clock)
    for _ in range(4):
        clock.advance(12 * HOUR)
        await finish(store, clock, node, *await claim(store, clock, node))
    clock.advance(DAY)

    assert again == []
    assert await claim(store, clock, node) == []
    assert [due for due, _ in await fates(store, clock, job)] == ["03-01T06:00", "03-02T06:00"]


async def test_entries_are_looked_at_in_groups_and_each_group_is_kept(
    store: Store, clock: ManualClock
) -> None:
    await known(store, FOUR)
    jobs = [await a_job(store, clock, schedule=cron(NINE), timezone=DUBAI) for _ in range(40)]
    await store.zones.record([KnownZone(DUBAI, "2026b", THREE)], [DUBAI], now=clock.now())
    zones.prefer({DUBAI: THREE})

    first = await store.zones.remake(limit=2, now=clock.now())
    rest = await remake(store, clock, limit=2)

    assert first is not None
    assert len(first.moves) == 2
    assert {move.job for move in [*first.moves, *rest]} == {job.id for job in jobs}
    assert len(rest) == 38
    assert {(await store.jobs.get(job.id)).version for job in jobs} == {2}


async def test_a_minute_later_what_an_older_node_put_back_is_mended(
    store: Store, clock: ManualClock
) -> None:
    node = await a_node(store, clock)
    await known(store, FOUR)
    job = await a_job(store, clock, schedule=cron("0 4,9 * * *"), timezone=DUBAI)
    assert len(await change(store, clock, THREE)) == 1
    pending = (await store.zones.all())[0].pending
    zones.prefer({DUBAI: FOUR})
    clock.advance(HOUR)
    await claim(store, clock, node)

    zones.prefer({DUBAI: THREE})
    (move,) = await remake(store, clock)
    clock.advance(5 * HOUR)
    await claim(store, clock, node)

    assert pending
    assert (move.old, move.new) == (START + 5 * HOUR, START + 6 * HOUR)
    assert [due for due, _ in await fates(store, clock, job)] == ["03-01T01:00", "03-01T06:00"]
    assert not (await store.zones.all())[0].pending


async def test_a_plan_that_was_made_before_a_move_is_refused(
    store: Store, clock: ManualClock
) -> None:
    node = await a_node(store, clock)
    await known(store, FOUR)
    await a_job(store, clock, schedule=cron(NINE), timezone=DUBAI)
    clock.advance(5 * HOUR)
    stale = await plan(store, clock)
    await change(store, clock, THREE)

    with pytest.raises(Taken):
        await store.clock.fire(stale, lessee=Lessee(node, PLENTY), now=clock.now())

    assert await claim(store, clock, node) == []


async def test_an_edit_after_a_move_goes_on_from_there(store: Store, clock: ManualClock) -> None:
    node = await a_node(store, clock)
    await known(store, FOUR)
    job = await a_job(store, clock, schedule=cron(NINE), timezone=DUBAI)
    await change(store, clock, THREE)

    edited = await edit(store, clock, job, name="renamed")
    clock.advance(6 * HOUR)
    await finish(store, clock, node, *await claim(store, clock, node))

    assert edited.version == 3
    assert await fates(store, clock, job) == [("03-01T06:00", Status.SUCCEEDED)]
    assert (await audited(store, clock, job)).faults.total() == 0


async def test_the_audit_says_what_was_due_by_other_tzdata_instead_of_blaming_it(
    store: Store, clock: ManualClock
) -> None:
    node = await a_node(store, clock)
    await known(store, FOUR)
    job = await a_job(store, clock, schedule=cron(NINE), timezone=DUBAI)
    other = await a_job(store, clock, schedule=every(3600))
    clock.advance(5 * HOUR)
    await finish(store, clock, node, *await claim(store, clock, node))
    clock.advance(7 * HOUR)
    await change(store, clock, THREE)
    clock.advance(AGAIN_US)
    await remake(store, clock)
    clock.advance(DAY)
    await claim(store, clock, node)

    balance = await audited(store, clock, job)

    assert balance.faults.total() == 0
    assert balance.untold == 2  # 05:00, which was due then, and 06:00, which is due by now
    assert balance.due == 1
    assert (await audited(store, clock, other)).untold == 0
