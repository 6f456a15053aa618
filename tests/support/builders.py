"""What tests begin with: jobs, nodes, claims and runs, made with the store's public verbs only."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from onthedot.core import editing
from onthedot.core.editing import Change, CurrentJob
from onthedot.core.firing import AHEAD, Plan, plan_firings
from onthedot.core.instants import MINUTE, SECOND, Instant
from onthedot.core.model import (
    SHARDS,
    Definition,
    Entry,
    ExecutionSpec,
    Job,
    Lanes,
    LeasedRun,
    Once,
    Outcome,
    RunRef,
)
from onthedot.core.schedules import Every
from onthedot.core.states import Status
from onthedot.core.views import NodeFacts, RunView
from onthedot.store.claims import Lessee
from onthedot.store.contract import Store
from onthedot.store.values import Receipt
from tests.support.clock import ManualClock

ALL_SHARDS = frozenset(range(SHARDS))
PLENTY = 10_000
PAGES_MAX = 1_000


class RunKey(NamedTuple):
    job: int
    run: int


class Named(Protocol):
    """Whatever names a run: a key, a leased run, a view, a signal."""

    @property
    def job(self) -> int: ...
    @property
    def run(self) -> int: ...


# Jobs


def a_definition(**fields: Any) -> Definition:
    return Definition(**{"name": "report", "handler_url": "http://127.0.0.1:9/hook", **fields})


def handling_of(definition: Definition) -> ExecutionSpec:
    return ExecutionSpec(**{name: getattr(definition, name) for name in ExecutionSpec._fields})


def every(seconds: int) -> Every:
    return Every(seconds * SECOND)


async def a_job(store: Store, clock: ManualClock, **fields: Any) -> Job:
    """A job that is only triggered, unless `schedule` says otherwise."""
    made = await store.jobs.create(a_definition(**fields), now=clock.now())
    assert made.job is not None
    return made.job


async def a_one_off(store: Store, clock: ManualClock, *, at: Instant, **fields: Any) -> Job:
    return await a_job(store, clock, schedule=Once(at), **fields)


async def jobs_in_every_shard(store: Store, clock: ManualClock, **fields: Any) -> dict[int, Job]:
    """One job of each shard. Which number a store gives to a job is its own affair."""
    found: dict[int, Job] = {}
    for _ in range(8 * SHARDS):
        job = await a_job(store, clock, **fields)
        found.setdefault(job.shard, job)
        if len(found) == SHARDS:
            return found
    raise AssertionError(f"{8 * SHARDS} jobs filled only the shards {sorted(found)}")


async def edit(store: Store, clock: ManualClock, job: Job, **changes: Any) -> Job:
    edited = await store.jobs.change(job.id, editing_to(**changes), now=clock.now())
    assert edited is not None
    return edited


def editing_to(**changes: Any) -> Any:
    def decide(current: CurrentJob) -> Change:
        return editing.edit(current, current.job.definition._replace(**changes))

    return decide


async def pause(store: Store, clock: ManualClock, job: Job) -> Job:
    return await edit(store, clock, job, paused=True)


async def resume(store: Store, clock: ManualClock, job: Job) -> Job:
    return await edit(store, clock, job, paused=False)


async def delete(store: Store, clock: ManualClock, job: Job) -> None:
    assert await store.jobs.change(job.id, editing.delete, now=clock.now()) is None


async def standing_of(store: Store, clock: ManualClock, job: Job) -> CurrentJob:
    """Where the store says that a job stands."""
    seen: list[CurrentJob] = []

    def decide(current: CurrentJob) -> None:
        seen.append(current)

    await store.jobs.change(job.id, decide, now=clock.now())
    return seen[-1]


def a_receipt(key: str = "once-only", fingerprint: str = "request") -> Receipt:
    return Receipt(key, fingerprint, lambda job, runs: f"job {job.id}, runs {list(runs)} ✓")


# Nodes


def facts(boot_id: str = "boot", *, roles: tuple[str, ...] = ("scheduler", "worker")) -> NodeFacts:
    return NodeFacts(
        boot_id=boot_id, host="pluto", pid=4711, roles=roles, slots=10, version="0.1.0"
    )


async def a_node(store: Store, clock: ManualClock) -> int:
    return await store.nodes.join(facts(), now=clock.now())


async def kill(store: Store, clock: ManualClock, *nodes: int) -> None:
    dead = await store.nodes.declare_dead(silent_before=0, gone=nodes, now=clock.now())
    assert set(dead) == set(nodes)


# Claims


async def plan(
    store: Store, clock: ManualClock, *, ahead: int = AHEAD, limit: int = PLENTY
) -> Plan:
    """Read and decide, as the scheduler does, without writing yet."""
    now, until = clock.now(), clock.now() + ahead
    peeked = await store.clock.peek(ALL_SHARDS, until=until, limit=limit)
    rules = await store.clock.rules(sorted({entry.rule for entry in peeked.entries}))
    return plan_firings(
        peeked.entries, peeked.cuts, rules, now=now, until=until, source=peeked.source
    )


async def fire(
    store: Store, clock: ManualClock, node: int, planned: Plan, *, own: int = PLENTY
) -> list[LeasedRun]:
    return await store.clock.fire(planned, lessee=Lessee(node, own), now=clock.now())


async def claim(
    store: Store,
    clock: ManualClock,
    node: int,
    *,
    own: int = PLENTY,
    ahead: int = AHEAD,
    limit: int = PLENTY,
) -> list[LeasedRun]:
    """One step of the scheduler: peek, rules, plan, fire."""
    planned = await plan(store, clock, ahead=ahead, limit=limit)
    return await fire(store, clock, node, planned, own=own)


# Runs


async def a_run(
    store: Store,
    clock: ManualClock,
    job: Job | None = None,
    *,
    due: Instant | None = None,
    payload: str | None = None,
) -> RunKey:
    """An enqueued run: unowned if due (the default), else waiting."""
    job = job or await a_job(store, clock)
    made = await store.runs.enqueue(
        job.id, due=clock.now() if due is None else due, payload=payload, now=clock.now()
    )
    assert made.run is not None
    return RunKey(job.id, made.run)


async def some_runs(
    store: Store, clock: ManualClock, count: int, job: Job | None = None
) -> list[RunKey]:
    job = job or await a_job(store, clock)
    return [await a_run(store, clock, job) for _ in range(count)]


async def lease(
    store: Store, clock: ManualClock, node: int, *queues: str, limit: int = PLENTY
) -> list[LeasedRun]:
    return await store.runs.lease(node, Lanes(queues), limit=limit, now=clock.now())


async def a_held_run(
    store: Store, clock: ManualClock, node: int, job: Job | None = None, **fields: Any
) -> LeasedRun:
    """An enqueued run in a node's hands; every other due run must be in somebody's already."""
    key = await a_run(store, clock, job, **fields)
    [held] = await lease(store, clock, node)
    assert (held.job, held.run) == key
    return held


async def a_running_run(
    store: Store, clock: ManualClock, node: int, job: Job | None = None
) -> LeasedRun:
    held = await a_held_run(store, clock, node, job)
    await store.runs.started(node, {ref(held): clock.now()})
    return held


async def a_retry(
    store: Store, clock: ManualClock, node: int, *, wait_us: int = MINUTE
) -> LeasedRun:
    """A run whose first attempt failed and that waits for its second; returned as it was held."""
    held = await a_held_run(store, clock, node)
    await store.runs.finish(
        node, [failed(held, clock, retry_at=clock.now() + wait_us)], now=clock.now()
    )
    return held


async def promote(
    store: Store, clock: ManualClock, node: int, *, own: int = PLENTY
) -> list[LeasedRun]:
    promoted = await store.runs.promote(
        ALL_SHARDS, until=clock.now(), lessee=Lessee(node, own), limit=PLENTY, now=clock.now()
    )
    return promoted.leased


def ref(run: LeasedRun) -> RunRef:
    return RunRef(run.job, run.run, run.fence)


def key_of(run: Named) -> RunKey:
    return RunKey(run.job, run.run)


def keys_of(runs: Any) -> list[RunKey]:
    return [key_of(run) for run in runs]


def succeeded(run: LeasedRun, clock: ManualClock, **fields: Any) -> Outcome:
    outcome = Outcome(
        run.job, run.run, run.attempt, run.fence, Status.SUCCEEDED, run.at, clock.now()
    )
    return outcome._replace(**fields)


def failed(run: LeasedRun, clock: ManualClock, **fields: Any) -> Outcome:
    return succeeded(
        run, clock, **{"status": Status.FAILED, "error": "HTTP 500 Internal Server Error", **fields}
    )


async def finish(store: Store, clock: ManualClock, node: int, *runs: LeasedRun) -> None:
    outcomes = [succeeded(run, clock) for run in runs]
    finished = await store.runs.finish(node, outcomes, now=clock.now())
    assert finished.accepted == len(runs)


# The ledger


async def view(store: Store, clock: ManualClock, run: Named) -> RunView:
    return await store.ledger.run(run.job, run.run, now=clock.now())


async def status_of(store: Store, clock: ManualClock, run: Named) -> Status:
    return (await view(store, clock, run)).status


async def ledger_of(
    store: Store, clock: ManualClock, job: int, *, page: int = PLENTY
) -> list[RunView]:
    """All that the ledger has about a job, newest first, read page by page."""
    views: list[RunView] = []
    before: int | None = None
    for _ in range(PAGES_MAX):
        more = await store.ledger.page(job, before=before, limit=page, now=clock.now())
        assert len(more) <= page
        if not more:
            return views
        views += more
        before = more[-1].run
    raise AssertionError(f"the ledger of job {job} did not end after {PAGES_MAX} pages")


async def prune(
    store: Store, *, before: Instant = 0, keys_before: Instant = 0, limit: int = PLENTY
) -> int:
    """Prune until nothing more goes; how many went."""
    total = 0
    for _ in range(PAGES_MAX):
        went = await store.upkeep.prune(before=before, keys_before=keys_before, limit=limit)
        if went == 0:
            return total
        total += went
    raise AssertionError(f"pruning did not end after {PAGES_MAX} steps")


def put_back(plan: Plan) -> list[Entry]:
    """The entries that a plan lets come again, at their next instant."""
    nexts = zip(plan.taken, plan.nexts, strict=True)
    return [entry._replace(due=due) for entry, due in nexts if due is not None]
