"""Every verb that writes: how it is called when it meets others, and where it has what to do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import asyncpg

from onthedot.core import editing
from onthedot.core.editing import Change, CurrentJob
from onthedot.core.instants import MINUTE, SECOND
from onthedot.core.model import CALLBACKS, Once, Outcome, RunRef
from onthedot.core.states import Status
from onthedot.errors import (
    JobDeleted,
    KeyTaken,
    LeaseLost,
    NodeDead,
    NotDead,
    NotFound,
    RunOver,
    Taken,
    VersionConflict,
)
from onthedot.ids import parse_run_id
from onthedot.store.claims import Finished, Lessee
from onthedot.store.notes import RunNote
from onthedot.store.postgres import PostgresStore
from onthedot.store.postgres.clock import PostgresClock
from onthedot.store.values import Created, Delivery, EnqueueRequest, Redriven
from tests.races.verbs_of_time import advance_backfills, backfill, follow, remake
from tests.races.world import PERIOD, World
from tests.support.builders import ALL_SHARDS, a_definition, a_receipt, every

Act = Callable[[PostgresStore, World], Awaitable[Any]]

RECURRING = ("held", "behind", "overdue")
ORPHANS = ("orphan", "orphan_once")
CHAINED = ("linked", "link")
SOME = 10


@dataclass(frozen=True, kw_only=True)
class Verb:
    """`worlds`: where it writes something, so that holding it open means something; none: it only
    ever comes second. `by`: whose
    death it must not outlive. `may`: the refusals that the contract knows. `nth`: which of its
    writing transactions is held open, where it has several. `passes_over`: it leaves what is locked
    to others instead of waiting."""

    name: str
    act: Act
    worlds: tuple[str, ...]
    by: Callable[[World], int] | None = None
    may: tuple[type[Exception], ...] = ()
    nth: int = 1
    passes_over: bool = False


def changing(become: Callable[[CurrentJob, World], Change], *, expect: bool = False) -> Act:
    async def act(store: PostgresStore, world: World) -> Any:
        return await store.jobs.change(
            world.job.id,
            lambda current: become(current, world),
            now=world.now,
            expected=world.job.version if expect else None,
        )

    return act


def edited(**fields: Any) -> Callable[[CurrentJob, World], Change]:
    return lambda current, world: editing.edit(current, current.job.definition._replace(**fields))


def moved(current: CurrentJob, world: World) -> Change:
    definition = current.job.definition._replace(schedule=Once(world.now + 5 * SECOND))
    return editing.edit(current, definition)


async def create(store: PostgresStore, world: World) -> Any:
    definition = a_definition(name="made", key="made", schedule=every(PERIOD // SECOND))
    return await store.jobs.create(definition, now=world.now, receipt=a_receipt())


async def create_many(store: PostgresStore, world: World) -> Any:
    definitions = [a_definition(name=key, key=key, schedule=every(600)) for key in ("made", "more")]
    return await store.jobs.create_many(definitions, now=world.now)


async def take_key(store: PostgresStore, world: World) -> Any:
    return await store.jobs.create(a_definition(name="thief", key="made"), now=world.now)


async def enqueue(store: PostgresStore, world: World) -> Any:
    return await store.runs.enqueue(world.job.id, due=world.now, payload=None, now=world.now)


async def enqueue_later(store: PostgresStore, world: World) -> Any:
    due = world.now + MINUTE
    return await store.runs.enqueue(world.job.id, due=due, payload=None, now=world.now)


async def enqueue_many(store: PostgresStore, world: World) -> Any:
    asked = [EnqueueRequest(world.now), EnqueueRequest(world.now + MINUTE)]
    return await store.runs.enqueue_many(world.job.id, asked, now=world.now)


async def enqueue_within(store: PostgresStore, world: World) -> Any:
    """In a transaction of somebody else's, by the function that anybody may call."""
    try:
        text = await store.runs._database.transaction(
            lambda db: db.fetchval("select onthedot_enqueue('kept')")
        )
    except asyncpg.PostgresError as error:
        raise (NotFound("no such job") if error.sqlstate == "OT004" else error) from error
    job, run = parse_run_id(text, text.partition("-")[0])
    return Created(job=world.job, runs=(run,)) if job == world.job.id else text


async def declare(store: PostgresStore, world: World) -> Any:
    return await store.jobs.declare("shop", [world.job.id], now=world.now)


async def fire(store: PostgresStore, world: World) -> Any:
    lessee = Lessee(world.node, SOME)
    return await store.clock.fire(world.plan, lessee=lessee, now=world.now)


async def split(store: PostgresStore, world: World) -> Any:
    """A scheduler that has just come looks far ahead: what it reads must be split first."""
    newcomer = PostgresClock(store.clock._database)
    shards = frozenset({world.job.shard})
    return await newcomer.peek(shards, until=world.now + 2 * PERIOD, limit=SOME)


async def promote(store: PostgresStore, world: World) -> Any:
    promoted = await store.runs.promote(
        ALL_SHARDS,
        until=world.until,
        lessee=Lessee(world.node, SOME),
        limit=SOME,
        now=world.now,
    )
    return promoted.leased


async def lease(store: PostgresStore, world: World) -> Any:
    return await store.runs.lease(world.node, CALLBACKS, limit=SOME, now=world.now)


async def started(store: PostgresStore, world: World) -> Any:
    return await store.runs.started(holder(world), {reference(world): world.now})


async def note(store: PostgresStore, world: World) -> Any:
    held = world.held
    said = RunNote(*reference(world), held.attempt, 1, world.now, "[]", None, "1")
    return await store.notes.add(holder(world), [said])


def finishing(status: Status, *, retry: bool = False, late: bool = False) -> Act:
    """`late`: under a fence that has been overtaken, although the same node holds the run again."""

    async def act(store: PostgresStore, world: World) -> Any:
        held = world.held
        if late:
            held = held._replace(fence=world.fence - 2)
        outcome = Outcome(held.job, held.run, held.attempt, held.fence, status, held.at, world.now)
        if retry:
            outcome = outcome._replace(error="HTTP 500", retry_at=world.now + MINUTE)
        return await store.runs.finish(holder(world), [outcome], now=world.now)

    return act


async def complete(store: PostgresStore, world: World) -> Any:
    values = {"started": world.now, "now": world.now}
    await store.runs.complete(reference(world), world.held.attempt, [], **values)
    return Finished(1, 0, 0, None)


async def release(store: PostgresStore, world: World) -> Any:
    return await store.runs.release(holder(world), [reference(world)], now=world.now)


async def rescue(store: PostgresStore, world: World) -> Any:
    return await store.runs.rescue(limit=SOME, now=world.now)


async def cancel(store: PostgresStore, world: World) -> Any:
    return await store.runs.cancel(*world.run, now=world.now)


async def redrive(store: PostgresStore, world: World) -> Any:
    return Redriven(world.run.run, await store.dead_letters.redrive(*world.run, now=world.now))


async def redrive_all(store: PostgresStore, world: World) -> Any:
    return await store.dead_letters.redrive_all(world.job.id, limit=SOME, now=world.now)


async def dismiss(store: PostgresStore, world: World) -> Any:
    return await store.dead_letters.dismiss(*world.run)


async def dismiss_all(store: PostgresStore, world: World) -> Any:
    return await store.dead_letters.dismiss_all(world.job.id, limit=SOME)


async def take_notices(store: PostgresStore, world: World) -> Any:
    return await store.outbox.take(limit=SOME, until=world.now + MINUTE, now=world.now)


def settling(trouble: str | None = None, *, after: int | None = None) -> Act:
    """By who took the notice first, and may have been too slow."""

    async def act(store: PostgresStore, world: World) -> Any:
        next_at = None if after is None else world.now + after
        delivery = Delivery(*world.run, 1, trouble, next_at)
        return await store.outbox.settle([delivery], now=world.now)

    return act


async def beat(store: PostgresStore, world: World) -> Any:
    return await store.nodes.beat(world.node, now=world.now)


async def bury(store: PostgresStore, world: World) -> Any:
    return await store.nodes.declare_dead(silent_before=0, gone=[world.node], now=world.now)


async def leave(store: PostgresStore, world: World) -> Any:
    return await store.nodes.leave(world.node, now=world.now)


async def prune(store: PostgresStore, world: World) -> Any:
    before = world.job.created_at + PERIOD + MINUTE
    return await store.upkeep.prune(before=before, keys_before=0, limit=SOME)


async def prepare(store: PostgresStore, world: World) -> Any:
    return await store.upkeep.prepare(now=world.now)


def holder(world: World) -> int:
    """Who holds the run, or did; in the world of the orphan it is dead."""
    return world.other if world.name in ORPHANS else world.node


def actor(world: World) -> int:
    return world.node


def reference(world: World) -> RunRef:
    return RunRef(world.held.job, world.held.run, world.held.fence)


EDITS = (NotFound, VersionConflict)
LIVE_JOBS = (*RECURRING, "free", "waiting", "dead", "orphan", "one_off", "spent")

VERBS = (
    Verb(name="create", act=create, worlds=("held",), may=(KeyTaken,)),
    Verb(name="create many", act=create_many, worlds=("held",), may=(KeyTaken,)),
    Verb(name="take key", act=take_key, worlds=("held",), may=(KeyTaken,)),
    Verb(
        name="edit",
        act=changing(edited(name="renamed"), expect=True),
        worlds=(*RECURRING, "one_off", "spent", "zoned", *CHAINED),
        may=EDITS,
    ),
    Verb(name="move", act=changing(moved), worlds=("held", "one_off", "spent", "link"), may=EDITS),
    Verb(
        name="pause",
        act=changing(edited(paused=True)),
        worlds=(*RECURRING, "one_off", *CHAINED),
        may=EDITS,
    ),
    Verb(name="resume", act=changing(edited(paused=False)), worlds=("paused",), may=EDITS),
    Verb(
        name="delete",
        act=changing(lambda current, world: editing.delete(current)),
        worlds=(*LIVE_JOBS, "paused", *CHAINED),
        may=EDITS,
    ),
    Verb(name="follow", act=follow, worlds=("held", "overdue"), nth=2),
    Verb(name="enqueue", act=enqueue, worlds=("held", "spent"), may=(NotFound,)),
    Verb(name="enqueue within", act=enqueue_within, worlds=("held",), may=(NotFound,)),
    Verb(name="enqueue later", act=enqueue_later, worlds=("held", "spent"), may=(NotFound,)),
    Verb(name="declare", act=declare, worlds=("spent",)),
    Verb(name="enqueue many", act=enqueue_many, worlds=("spent",), may=(NotFound,)),
    Verb(
        name="fire",
        act=fire,
        worlds=(*RECURRING, "twice", "one_off", "zoned"),
        by=actor,
        may=(Taken, NodeDead),
    ),
    Verb(name="split", act=split, worlds=("held", "behind")),
    Verb(
        name="promote",
        act=promote,
        worlds=("waiting", "one_off", "linked"),
        by=actor,
        may=(NodeDead,),
        passes_over=True,
    ),
    Verb(name="lease", act=lease, worlds=("free",), by=actor, may=(NodeDead,), passes_over=True),
    Verb(name="started", act=started, worlds=("held",), by=holder, may=(NodeDead,)),
    Verb(name="note", act=note, worlds=("held",), by=holder, may=(NodeDead,)),
    Verb(
        name="finish",
        act=finishing(Status.SUCCEEDED),
        worlds=("held", "paused", "twice", "link"),
        by=holder,
        may=(NodeDead,),
    ),
    Verb(
        name="fail",
        act=finishing(Status.FAILED),
        worlds=("held",),
        by=holder,
        may=(NodeDead,),
    ),
    Verb(
        name="retry",
        act=finishing(Status.FAILED, retry=True),
        worlds=("held", "twice"),
        by=holder,
        may=(NodeDead,),
    ),
    Verb(
        name="finish late",
        act=finishing(Status.SUCCEEDED, late=True),
        worlds=(),
        by=holder,
        may=(NodeDead,),
    ),
    Verb(
        name="complete",
        act=complete,
        worlds=("held", "paused"),
        by=holder,
        may=(NodeDead, LeaseLost),
    ),
    Verb(name="release", act=release, worlds=("held",), by=holder, may=(NodeDead,)),
    Verb(name="rescue", act=rescue, worlds=ORPHANS, passes_over=True),
    Verb(
        name="cancel",
        act=cancel,
        worlds=("free", "held", "waiting", *ORPHANS, "one_off", "linked"),
        may=(RunOver, NotFound),
    ),
    Verb(name="redrive", act=redrive, worlds=("dead",), may=(NotFound, NotDead, JobDeleted)),
    Verb(name="redrive all", act=redrive_all, worlds=("dead",), may=(NotFound,)),
    Verb(name="dismiss", act=dismiss, worlds=("dead",), may=(NotFound, NotDead)),
    Verb(name="dismiss all", act=dismiss_all, worlds=("dead",)),
    Verb(name="take notices", act=take_notices, worlds=("dead",), passes_over=True),
    Verb(name="deliver", act=settling(), worlds=("dead",)),
    Verb(name="put off", act=settling("HTTP 503", after=MINUTE), worlds=("dead",)),
    Verb(name="give up", act=settling("HTTP 503"), worlds=("dead",)),
    Verb(name="backfill", act=backfill, worlds=("held", "spent"), may=(NotFound,)),
    Verb(name="advance backfills", act=advance_backfills, worlds=(), passes_over=True),
    Verb(name="remake", act=remake, worlds=("zoned",), passes_over=True),
    Verb(name="beat", act=beat, worlds=("held",), by=actor, may=(NodeDead,)),
    Verb(name="bury", act=bury, worlds=("held", "free", "waiting"), passes_over=True),
    Verb(name="leave", act=leave, worlds=("held", "free", "waiting")),
    Verb(name="prepare", act=prepare, worlds=("held",)),
    Verb(name="prune versions", act=prune, worlds=("held",), passes_over=True),
    Verb(name="prune nodes", act=prune, worlds=("held",), nth=2),
    Verb(name="prune history", act=prune, worlds=("held",), nth=3),
    Verb(name="prune one-offs", act=prune, worlds=("spent",), nth=2),
)
