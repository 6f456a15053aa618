"""What there is to know of a job or a run, and the shape of what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from onthedot.core.durations import format_duration
from onthedot.core.instants import MILLISECOND, SECOND, Instant, format_instant
from onthedot.core.model import Job
from onthedot.core.views import NodeView, RunView


class Severity(StrEnum):
    OK = "ok"
    NOTE = "note"
    """Explains something, and may well be meant."""
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: its name, what was found in a sentence, and the fix if there is one."""

    check: str
    verdict: Severity
    found: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class NoticeFact:
    """`at`: when it is tried next; None: it was given up. `trouble`: what came of the last try."""

    url: str
    tries: int
    at: Instant | None
    trouble: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """`job` None: it was deleted. `recorded`: the ledger has the instant that `last_due` names.
    `queued`: due runs of the job's queue that nobody holds. `last` is the job's latest record that
    has ended; `link` the run of the chain's link, if the job has a fixed delay and that run is
    there; `is_letter`: the run is among the dead letters; `notice` that of its failure, if nobody
    has received it; `fault`: what its node has said about a call that it could not make. `horizon`:
    up to where the clock was claimed. `run_id` gives the id of a run of the job by its number.
    """

    now: Instant
    job_id: str
    run_id: Callable[[int], str]
    job: Job | None
    nodes: Sequence[NodeView] = ()
    set_aside: str | None = None
    recorded: bool = True
    queued: int = 0
    last: RunView | None = None
    link: RunView | None = None
    is_letter: bool = False
    notice: NoticeFact | None = None
    fault: str | None = None
    horizon: Instant = 0
    alive: tuple[NodeView, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "alive", tuple(node for node in self.nodes if not node.dead))


def when(instant: Instant, now: Instant) -> str:
    """The instant and how far it is, such as '2027-01-31T09:30:00Z (5 min ago)'."""
    text = format_instant(instant // MILLISECOND * MILLISECOND)
    distance = abs(instant - now) // SECOND * SECOND
    if not distance:
        return f"{text} (now)"
    words = " ".join(format_duration(distance).split(" ")[:4])
    return f"{text} (in {words})" if instant > now else f"{text} ({words} ago)"


def error_of(run: RunView) -> str | None:
    """The first line of what went wrong."""
    return run.error and run.error.partition("\n")[0]
