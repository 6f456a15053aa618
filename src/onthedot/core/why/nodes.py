"""Who would take a job's runs: schedulers, workers, and how busy they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onthedot.core.durations import format_duration
from onthedot.core.firing import silent_until
from onthedot.core.instants import MILLISECOND
from onthedot.core.model import Definition, Job, lane_of
from onthedot.core.recovery import shards_of
from onthedot.core.views import NodeView
from onthedot.core.why.facts import Facts, Finding, Severity, when


def scheduler(facts: Facts, job: Job) -> Finding:
    schedulers = [node for node in facts.alive if "scheduler" in node.facts.roles]
    if not schedulers:
        fix = "onthedot serve --roles scheduler (and the same database)"
        return Finding("scheduler", Severity.PROBLEM, "no scheduler is alive", fix)
    fit = [node for node in schedulers if node.load.claiming and not node.refused]
    if not fit:
        if any(node.refused for node in schedulers):
            return clock_refused("scheduler", schedulers)
        found = "every scheduler that is alive is about to leave"
        return Finding("scheduler", Severity.PROBLEM, found, "Start another one: onthedot serve")
    silent = silent_until(facts.horizon, facts.now)
    if silent is not None:
        found = (
            f"the clock was set back: all that is due until {when(silent, facts.now)} was claimed "
            "already, and nothing more is until then"
        )
        fix = "Wait until then. Let NTP keep the clock, so that it is never set by hand."
        return Finding("scheduler", Severity.PROBLEM, found, fix)
    numbers = [node.number for node in fit]
    owner = next(number for number in numbers if job.shard in shards_of(number, numbers))
    found = f"node {owner} looks after its part of the clock"
    return Finding("scheduler", Severity.OK, found)


def worker(facts: Facts, definition: Definition) -> Iterator[Finding]:
    queue = definition.queue
    workers = [node for node in facts.alive if node.takes(lane_of(definition))]
    anyones = lane_of(definition._replace(handler=""))
    if not workers and any(node.takes(anyones) for node in facts.alive):
        found = f"no worker of queue '{queue}' has the function '{definition.handler}'"
        fix = "onthedot serve --roles worker --app module:app, with the app that declares it"
        yield Finding("worker", Severity.PROBLEM, found, fix)
        return
    if not workers:
        some = any("worker" in node.facts.roles for node in facts.alive)
        who = f"no worker takes runs of queue '{queue}'" if some else "no worker is alive"
        fix = f"onthedot serve --roles worker --queues {queue} (and the same database)"
        yield Finding("worker", Severity.PROBLEM, who, fix)
        return
    fit = [node for node in workers if not node.refused]
    if not fit:
        yield clock_refused("worker", workers)
        return
    names = ", ".join(str(node.number) for node in fit[:10])
    yield Finding("worker", Severity.OK, f"queue '{queue}' is taken by node {names}")
    slots, running = sum(node.facts.slots for node in fit), sum(node.load.running for node in fit)
    if running >= slots:
        found = f"all {slots} slots are busy, and {facts.queued} due runs of the queue wait"
        fix = "Raise `slots`, start another worker, or make the callbacks quicker."
        yield Finding("slots", Severity.PROBLEM, found, fix)
    else:
        yield Finding("slots", Severity.OK, f"{running} of {slots} slots are busy")


def clock_refused(role: str, nodes: Sequence[NodeView]) -> Finding:
    worst = max(nodes, key=lambda node: abs(node.load.offset_us))
    off = format_duration(abs(worst.load.offset_us) // MILLISECOND * MILLISECOND)
    found = f"the clock of node {worst.number} is {off} off the database's: it starts nothing"
    return Finding(role, Severity.PROBLEM, found, "Set that machine's clock, best by NTP.")
