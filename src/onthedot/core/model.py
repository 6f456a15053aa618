"""What onthedot speaks of: jobs, occurrences, runs, attempts, the ledger. Frozen values, named as
in the glossary.

Values that are made by the thousand (definitions, entries, runs, outcomes) are named tuples, which
a database row becomes without copying field by field; the rest are dataclasses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from onthedot.core.instants import HOUR, MINUTE, SECOND, Instant
from onthedot.core.schedules import Allowed, Calendar, FixedDelay, Roll, Timetable, Within
from onthedot.core.schedules import Once as Once  # noqa: PLC0414  (a noun of the model, too)
from onthedot.core.schedules import Schedule as Recurring
from onthedot.core.shifting import NO_SHIFT, Shift
from onthedot.core.states import Status
from onthedot.core.traits import AT_MOST_ONCE, FIXED_DELAY, is_at_most_once

SHARDS = 16
"""Every job belongs to one shard, by its number; a shard is the unit in which schedulers share the
clock.
"""

NUMBER_BITS = 10
NUMBER_MAX = (1 << NUMBER_BITS) - 1

CatchUp = Literal["latest", "all", "none"]
Guarantee = Literal["at_least_once", "at_most_once", "exactly_once"]


def shard_of(job: int) -> int:
    return job % SHARDS


def occurrence(due: Instant) -> int:
    """The run number of an occurrence: its due instant with n = 0, so that it cannot be recorded
    twice.
    """
    return due << NUMBER_BITS


def created_run(at: Instant, n: int) -> int:
    """The run number of a run that is no occurrence: when it was made, and a tie-breaker from 1."""
    assert 1 <= n <= NUMBER_MAX, n
    return at << NUMBER_BITS | n


def is_occurrence(run: int) -> bool:
    return run & NUMBER_MAX == 0


Schedule = Recurring | Once | FixedDelay | None


class Backoff(NamedTuple):
    """How long a failed attempt waits: `initial_us` × `factor` per attempt, at most `max_us`."""

    initial_us: int = SECOND
    factor: float = 2.0
    max_us: int = HOUR


class CatchUpLimits(NamedTuple):
    """How catching up is bounded: none older than `age_us`, the newest `most`, at most `rate` a
    second.
    """

    age_us: int | None = None
    most: int = 1_000
    rate: int = 50


MODEST = CatchUpLimits()


class NamedCalendar(NamedTuple):
    """A calendar as it was when a job took it over: what a version follows never changes."""

    name: str
    version: int
    calendar: Calendar


class Definition(NamedTuple):
    """What a user says about a job: all that an edit may change. Defaults are those of the API.

    Either `handler_url` or `handler`, the name of a Python function, is set. `schedule_text` is the
    schedule as it was written, where it was given as text of any kind. `on_failure_url` is told of
    runs that failed; empty: nobody is. `last_at` follows from `max_runs`: the instant of the last
    of them, worked out when that was said.
    """

    name: str
    handler_url: str = ""
    handler: str = ""
    schedule: Schedule = None
    schedule_text: str | None = None
    timezone: str = "UTC"
    payload: str = "{}"
    key: str | None = None
    namespace: str = "default"
    owner: str | None = None
    timeout_us: int = 60 * SECOND
    retries: int = 3
    backoff: Backoff = Backoff()
    queue: str = "default"
    priority: int = 5
    guarantee: Guarantee = "at_least_once"
    catch_up: CatchUp = "latest"
    catch_up_window_us: int = MINUTE
    overlap: str = "allow"
    tags: tuple[str, ...] = ()
    paused: bool = False
    on_failure_url: str = ""
    start_at: Instant | None = None
    end_at: Instant | None = None
    max_runs: int | None = None
    last_at: Instant | None = None
    shift: Shift = NO_SHIFT
    catching: CatchUpLimits = MODEST
    calendar: NamedCalendar | None = None
    calendar_roll: Roll = "skip"


class ExecutionSpec(NamedTuple):
    """All that a worker must know of a job to execute its runs."""

    handler_url: str
    handler: str
    payload: str
    timeout_us: int
    retries: int
    backoff: Backoff
    guarantee: Guarantee = "at_least_once"


class Job(NamedTuple):
    """A definition with its identity. Every edit is a new `version`.

    `anchor` is the phase of an interval. The version accounts for what is due after `since`, and
    for nothing earlier. `skipping_from` is set while a pause holds occurrences
    back: all that fall due after it are skipped, and the ledger gets them when the pause ends.
    `link`: the occurrence of a fixed delay that is to come or under way, or that of a one-off while
    it waits; None: there is none.
    """

    id: int
    version: int
    definition: Definition
    anchor: Instant
    since: Instant
    created_at: Instant
    updated_at: Instant
    skipping_from: Instant | None = None
    link: Instant | None = None

    @property
    def shard(self) -> int:
        return shard_of(self.id)


class Rule(NamedTuple):
    """All that the scheduler must know to fire a job, shared by every job that says the same.

    Rules are interned by the store and never change, so that firing reads no job. An interval's
    anchor is not part of it: the due instant of an entry carries the phase.
    """

    schedule: Timetable
    lane: str
    traits: int
    priority: int
    catch_up: CatchUp
    catch_up_window_us: int
    shift: Shift | None = None
    catching: CatchUpLimits = MODEST


def rule_of(definition: Definition) -> Rule | None:
    """The rule of a recurring job; None for a job without a clock entry (one-off, fixed delay,
    triggered only).
    """
    schedule = timetable(definition)
    if schedule is None:
        return None
    if isinstance(schedule, Within):
        # Nobody fires what comes before the first entry; without it more jobs share a rule.
        schedule = schedule.base if schedule.end is None else replace(schedule, start=None)
    return Rule(
        schedule,
        lane_of(definition),
        traits_of(definition),
        definition.priority,
        definition.catch_up,
        definition.catch_up_window_us,
        None if definition.shift == NO_SHIFT else definition.shift,
        definition.catching,
    )


def timetable(definition: Definition) -> Timetable | None:
    """When a recurring job is due: its schedule, as its calendar allows it, between its first and
    its last instant. When one with a fixed delay is due nobody can tell.
    """
    schedule = definition.schedule
    if schedule is None or isinstance(schedule, (Once, FixedDelay)):
        return None
    allowed = schedule if definition.calendar is None else allowed_of(definition) or schedule
    start, ends = definition.start_at, (definition.end_at, definition.last_at)
    if start is None and ends == (None, None):
        return allowed
    return Within(allowed, start, min((end for end in ends if end is not None), default=None))


def allowed_of(definition: Definition) -> Allowed | None:
    """The schedule of a recurring job under its calendar, if it follows one."""
    schedule, named = definition.schedule, definition.calendar
    if named is None or schedule is None or isinstance(schedule, Once | FixedDelay):
        return None
    return Allowed(schedule, named.calendar, definition.calendar_roll, definition.timezone)


LANE_MARK = "|"
"""Between namespace, queue and function in the name of a lane; none of them may contain it."""


def lane_of(definition: Definition) -> str:
    """What decides which workers may take a run: its namespace; its queue; and the Python function
    that it calls, if any, since not every worker has it.
    """
    return LANE_MARK.join((definition.namespace, definition.queue, definition.handler))


def traits_of(definition: Definition) -> int:
    """What whoever makes, leases or ends a run must know of its job's policies, as bits."""
    traits = FIXED_DELAY if isinstance(definition.schedule, FixedDelay) else 0
    return traits | (AT_MOST_ONCE if definition.guarantee == "at_most_once" else 0)


def queue_of(lane: str) -> str:
    return lane.split(LANE_MARK)[1]


def calls_function(lane: str) -> bool:
    """Whether the runs of this lane call a Python function, and not a URL."""
    return not lane.endswith(LANE_MARK)


class Lanes(NamedTuple):
    """Which lanes a worker takes: of these queues (none given: of all), and of Python functions
    those that it has.
    """

    queues: tuple[str, ...] = ()
    functions: frozenset[str] = frozenset()

    def take(self, lane: str) -> bool:
        _, queue, function = lane.split(LANE_MARK)
        return (not self.queues or queue in self.queues) and (
            not function or function in self.functions
        )


CALLBACKS = Lanes()
"""Of every queue, and no Python functions."""


class Entry(NamedTuple):
    """One coming occurrence in the clock. An active recurring version has exactly one."""

    shard: int
    due: Instant
    job: int
    version: int
    rule: int


class Cut(NamedTuple):
    """A version that has ended: its entry still accounts for what was due up to `cut`, for nothing
    later.

    `deleted`: those occurrences are skipped instead of run, since nobody wants them any more.
    """

    job: int
    version: int
    cut: Instant
    deleted: bool


class NewRun(NamedTuple):
    """A run about to be written. `payload` None means the job's own; `expires` is when it is too
    late to start.
    """

    job: int
    run: int
    version: int
    lane: str
    traits: int
    priority: int
    due: Instant
    at: Instant
    payload: str | None = None
    expires: Instant | None = None


class LeasedRun(NamedTuple):
    """A live run in a node's hands. `fence` is the number without which the node cannot write about
    it.
    """

    job: int
    run: int
    version: int
    lane: str
    traits: int
    priority: int
    due: Instant
    at: Instant
    attempt: int
    rescues: int
    fence: int
    payload: str | None

    @property
    def at_most_once(self) -> bool:
        return is_at_most_once(self.traits)


@dataclass(frozen=True, slots=True)
class Record:
    """A range of occurrences that did not run, as one line of the ledger; `count` None: too many to
    count.
    """

    job: int
    version: int
    status: Status
    first: Instant
    last: Instant
    count: int | None
    reason: str


class Outcome(NamedTuple):
    """What an attempt came to. `retry_at` set: the attempt failed and another follows at that
    instant.
    """

    job: int
    run: int
    attempt: int
    fence: int
    status: Status
    started: Instant | None
    finished: Instant
    error: str | None = None
    output: str | None = None
    reason: str | None = None
    retry_at: Instant | None = None


class RunRef(NamedTuple):
    """A leased run, named together with the fence under which its owner speaks of it."""

    job: int
    run: int
    fence: int
