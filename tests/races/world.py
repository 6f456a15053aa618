"""Small worlds in which verbs collide: one job, one run, two nodes. Each is built once, with the
store's own verbs, and put back as it was before every race."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import asyncpg

from onthedot.core.editing import Change, CurrentJob, edit
from onthedot.core.firing import AHEAD, Plan
from onthedot.core.instants import MILLISECOND, SECOND, Instant
from onthedot.core.model import Job, LeasedRun, Once, occurrence
from onthedot.core.schedules import Cron, FixedDelay
from onthedot.core.schedules.zones import Offsets, own_offsets
from onthedot.core.zoning import KnownZone, years_around
from onthedot.store.postgres import PostgresStore, open_store
from tests.support import builders
from tests.support.builders import RunKey
from tests.support.clock import START, ManualClock
from tests.support.postgres import PostgresServer, new_database

PERIOD = 600 * SECOND
"""Of the job. Its next occurrence is due half a second after the race, within a claim's reach."""
TABLES = (
    *("job", "job_version", "near", "far", "cut", "aside", "run", "waiting", "history", "dead"),
    *("redrive", "outbox", "log", "memo", "idempotency", "node", "signal", "rule", "shard"),
    *("calendar", "calendar_use", "zone", "zone_move", "chain"),
)

DUBAI = "Asia/Dubai"
FIVE_MINUTES_OFF = Offsets(*years_around(START), ((years_around(START)[0], 4 * 3600 - 300),))


@dataclass(frozen=True, kw_only=True)
class World:
    """What the racing verbs speak about. `held` is the run as its node last held it: in some worlds
    it has lost it since, and is a late writer. `fence` is the run's own when the race begins."""

    name: str
    database: str
    now: Instant
    job: Job
    held: LeasedRun
    fence: int
    node: int
    other: int
    plan: Plan

    @property
    def run(self) -> RunKey:
        return RunKey(self.held.job, self.held.run)

    @property
    def until(self) -> Instant:
        return self.now + AHEAD


@dataclass
class Scene:
    """A world under construction."""

    store: PostgresStore
    clock: ManualClock
    job: Job
    node: int
    other: int
    held: LeasedRun | None = None
    fence: int = 0

    async def wait_until(self, us: int) -> None:
        self.clock.advance(self.job.created_at + us - self.clock.now())

    async def lease(self) -> None:
        [self.held] = await builders.lease(self.store, self.clock, self.node)
        self.fence = self.held.fence


async def get_world(server: PostgresServer, name: str) -> World:
    worlds = _built(server)
    if name not in worlds:
        worlds[name] = await build(name, server)
    return worlds[name]


@cache
def _built(server: PostgresServer) -> dict[str, World]:
    return {}


async def build(name: str, server: PostgresServer) -> World:
    database = await new_database(server)
    store = await open_store(server.url(database))
    try:
        world = await _build(name, database, store)
    finally:
        await store.upkeep.close()
    connection = await asyncpg.connect(server.url(database))
    try:
        await connection.execute(_keeping())
    finally:
        await connection.close()
    return world


def _keeping() -> str:
    """Keep every row aside, with a function that brings them all back in one round trip."""
    kept = "".join(f"create table kept.{t} as select * from public.{t};" for t in TABLES)
    back = "".join(
        f"delete from public.{t}; insert into public.{t} overriding system value"
        f" select * from kept.{t};"
        for t in TABLES
    )
    days = "select relname from pg_class where relkind = 'r' and relname like 'history_2%'"
    return (
        f"create schema kept; {kept} create function kept.restore() returns void"
        " language plpgsql as $$ declare day text; begin"
        f" for day in {days} loop execute format('drop table %I', day); end loop;"
        f" {back} end $$"
    )


async def _build(name: str, database: str, store: PostgresStore) -> World:
    clock = ManualClock()
    before = await builders.a_node(store, clock)
    node, other = await builders.a_node(store, clock), await builders.a_node(store, clock)
    # A node that was there before, and is forgotten by a prune.
    await builders.kill(store, clock, before)
    await store.runs.rescue(limit=10, now=clock.now())
    asking = {"key": "kept", "on_failure_url": "https://example.com/pager"}
    job = await builders.a_job(store, clock, schedule=builders.every(600), **asking)
    scene = Scene(store, clock, job, node, other)
    await BUILDERS[name](scene)
    assert scene.held is not None
    planned = await builders.plan(store, clock)
    return World(
        name=name,
        database=database,
        now=clock.now(),
        job=await store.jobs.get(scene.job.id),
        held=scene.held,
        fence=scene.fence,
        node=scene.node,
        other=scene.other,
        plan=planned,
    )


async def _history(scene: Scene, *, pause: bool = False) -> None:
    """An edit, two occurrences (of which a pause holds the second one back), and then it is half a
    second before the third."""
    store, clock = scene.store, scene.clock
    await scene.wait_until(10 * SECOND)
    scene.job = await builders.edit(store, clock, scene.job, name="edited")
    for round_ in (1, 2):
        await scene.wait_until(round_ * PERIOD)
        fired = await builders.claim(store, clock, scene.node)
        await builders.finish(store, clock, scene.node, *fired)
        if pause and round_ == 1:
            scene.job = await builders.pause(store, clock, scene.job)
    await scene.wait_until(3 * PERIOD - 500 * MILLISECOND)


async def free(scene: Scene, **fields: Any) -> None:
    """Nobody holds the run. The node had it, gave it back, and may not have noticed."""
    await _history(scene)
    if fields:
        scene.job = await builders.edit(scene.store, scene.clock, scene.job, **fields)
    await builders.a_run(scene.store, scene.clock, scene.job)
    await scene.lease()
    assert scene.held is not None
    refs = [builders.ref(scene.held)]
    assert await scene.store.runs.release(scene.node, refs, now=scene.clock.now()) == 1
    scene.fence += 1


async def held(scene: Scene, **fields: Any) -> None:
    """The node holds the run, not for the first time."""
    await free(scene, **fields)
    await scene.lease()


async def waiting(scene: Scene) -> None:
    """The first attempt has failed; the time for the second has come."""
    await held(scene)
    assert scene.held is not None
    again = builders.failed(scene.held, scene.clock, retry_at=scene.clock.now())
    await scene.store.runs.finish(scene.node, [again], now=scene.clock.now())
    scene.fence += 1


async def dead(scene: Scene) -> None:
    """The run has failed for good, and is among the dead letters. Somebody has taken its notice,
    and has had it for as long as he may."""
    await held(scene)
    assert scene.held is not None
    outcome, now = builders.failed(scene.held, scene.clock), scene.clock.now()
    await scene.store.runs.finish(scene.node, [outcome], now=now)
    assert len(await scene.store.outbox.take(limit=10, until=now, now=now)) == 1


async def orphan(scene: Scene, **fields: Any) -> None:
    """The node that holds the run is dead; the other one acts."""
    await held(scene, **fields)
    await builders.kill(scene.store, scene.clock, scene.node)
    scene.node, scene.other = scene.other, scene.node


async def orphan_once(scene: Scene) -> None:
    """The same of a run that is started at most once: its dead holder may have started it."""
    await orphan(scene, guarantee="at_most_once", retries=0)


async def paused(scene: Scene) -> None:
    """The job is paused, and has been while an occurrence went by."""
    await _history(scene, pause=True)
    await builders.a_run(scene.store, scene.clock, scene.job)
    await scene.lease()


async def behind(scene: Scene) -> None:
    """The shard was claimed up to here already, by a claim that did not see the job's entry."""
    await held(scene)
    await _tell(
        scene,
        "update shard set horizon = $1 where id = $2",
        scene.clock.now() + AHEAD,
        scene.job.shard,
    )


async def overdue(scene: Scene) -> None:
    """The third occurrence is late, and belongs to a version that an edit has ended meanwhile."""
    await held(scene)
    scene.clock.advance(5 * SECOND)
    scene.job = await builders.edit(scene.store, scene.clock, scene.job, name="edited again")


async def twice(scene: Scene) -> None:
    """The occurrence that an ended version still has to account for was asked for again as a
    one-off, which is the run that the node holds: it must not be made a second time."""
    await _history(scene)
    due = scene.job.created_at + 3 * PERIOD
    scene.clock.advance(5 * SECOND)
    scene.job = await builders.edit(scene.store, scene.clock, scene.job, name="edited again")
    await _become_one_off(scene, due)
    [scene.held] = await builders.promote(scene.store, scene.clock, scene.node)
    scene.fence = scene.held.fence


async def one_off(scene: Scene) -> None:
    """The job is due once, half a second from now; the run is that occurrence."""
    await _history(scene)
    await _become_one_off(scene, scene.clock.now() + 500 * MILLISECOND)
    scene.held = _never_held(scene.job, scene.clock.now() + 500 * MILLISECOND)


async def spent(scene: Scene) -> None:
    """The job was due once, long ago: its run is over and forgotten, and nothing is left but it."""
    await scene.wait_until(10 * SECOND)
    await _become_one_off(scene, scene.clock.now() + SECOND)
    scene.clock.advance(2 * SECOND)
    await builders.claim(scene.store, scene.clock, scene.node)
    runs = await builders.promote(scene.store, scene.clock, scene.node)
    await builders.finish(scene.store, scene.clock, scene.node, *runs)
    [scene.held] = runs
    scene.fence = scene.held.fence
    await scene.wait_until(3 * PERIOD - 500 * MILLISECOND)
    await _tell(scene, "delete from history where job = $1", scene.job.id)
    await _tell(scene, "delete from job_version where job = $1", scene.job.id)


async def zoned(scene: Scene) -> None:
    """The job is due in a zone whose clocks are five minutes off by a new release, and nobody has
    looked at its entry since."""
    now, years = scene.clock.now(), years_around(scene.clock.now())
    known = KnownZone(DUBAI, "2026a", own_offsets(DUBAI, *years))
    await scene.store.zones.record([known], (), now=now)
    await held(scene, schedule=Cron.parse("*/10 * * * *", DUBAI), timezone=DUBAI)
    changed = known._replace(release="2026b", offsets=FIVE_MINUTES_OFF)
    now = scene.clock.now()
    assert await scene.store.zones.record([changed], [DUBAI], now=now) == [DUBAI]
    await _tell(scene, "update zone set shard = $1", scene.job.shard)


async def linked(scene: Scene) -> None:
    """The job has a fixed delay, and its next run waits: half a second from now it is due."""
    await _become_chain(scene)
    due = scene.job.link
    assert due is not None
    scene.held = _never_held(scene.job, due)
    scene.clock.advance(due - 500 * MILLISECOND - scene.clock.now())


async def link(scene: Scene) -> None:
    """The job has a fixed delay, and the node holds the run from whose end the next will count."""
    await linked(scene)
    scene.clock.advance(SECOND)
    [scene.held] = await builders.promote(scene.store, scene.clock, scene.node)
    scene.fence = scene.held.fence
    # What is claimed is claimed up to now: an edit leaves it alone.
    scene.clock.advance(SECOND)


async def _become_chain(scene: Scene) -> None:
    """With one run behind it."""
    store, clock = scene.store, scene.clock
    await scene.wait_until(10 * SECOND)
    scene.job = await builders.edit(store, clock, scene.job, schedule=FixedDelay(PERIOD))
    await scene.wait_until(10 * SECOND + PERIOD)
    await builders.claim(store, clock, scene.node)
    [first] = await builders.promote(store, clock, scene.node)
    await builders.finish(store, clock, scene.node, first)
    scene.job = await store.jobs.get(scene.job.id)


async def _become_one_off(scene: Scene, at: Instant) -> None:
    def decide(current: CurrentJob) -> Change:
        return edit(current, current.job.definition._replace(schedule=Once(at)))

    changed = await scene.store.jobs.change(scene.job.id, decide, now=scene.clock.now())
    assert changed is not None
    scene.job = changed


def _never_held(job: Job, at: Instant) -> LeasedRun:
    where = (job.id, occurrence(at), job.version, "default|default|", 0, 5, at, at)
    return LeasedRun(*where, 1, 0, 0, None)


async def _tell(scene: Scene, statement: str, *values: object) -> None:
    await scene.store.upkeep._database.rows(statement, *values)


BUILDERS: dict[str, Callable[[Scene], Awaitable[None]]] = {
    each.__name__: each
    for each in (
        free,
        held,
        waiting,
        dead,
        orphan,
        paused,
        behind,
        overdue,
        twice,
        one_off,
        spent,
        orphan_once,
        zoned,
        linked,
        link,
    )
}
