"""How a job with a fixed delay goes on: each occurrence is made when the one before it has ended.

Its occurrences are a chain, of which one link exists at a time: a waiting run, like that of a
one-off, and later a live one. Whoever ends that run makes the next link in the same transaction;
so no crash can break the chain, and none can make two of it. A run that is no link (triggered,
redriven, of another schedule of the job) ends like any other.
"""

from __future__ import annotations

from typing import NamedTuple

from onthedot.core.instants import INSTANT_MAX, Instant
from onthedot.core.model import (
    NUMBER_BITS,
    Definition,
    Job,
    NewRun,
    lane_of,
    occurrence,
    traits_of,
)
from onthedot.core.schedules import FixedDelay


class Chain(NamedTuple):
    """Where the chain of a job stands, and all that whoever ends its link must know.

    `run`: the link, to come or under way; None: the chain is over. `late_us`: a link that nobody
    claims for so long is missed; None: it never is. `turns`: so many links may follow; None: no
    end. `parked`: the job is paused, so that the next link is not made, only remembered.
    """

    job: int
    run: int | None
    version: int
    lane: str
    traits: int
    priority: int
    delay_us: int
    late_us: int | None
    ends: Instant | None
    turns: int | None
    parked: bool

    @property
    def due(self) -> Instant | None:
        return None if self.run is None else self.run >> NUMBER_BITS

    def at(self, due: Instant) -> Chain:
        """With its link at this instant, or over if that is too late."""
        last = INSTANT_MAX if self.ends is None else min(self.ends, INSTANT_MAX)
        return self._replace(run=occurrence(due) if due <= last else None)


def late_us(definition: Definition) -> int | None:
    """How late an occurrence that waits by itself may be claimed; None: however late."""
    if definition.catch_up == "none":
        return definition.catch_up_window_us
    if definition.catching.age_us is None:
        return None
    return max(definition.catching.age_us, definition.catch_up_window_us)


def first_due(definition: Definition, after: Instant) -> Instant:
    """When a chain that begins after an instant has its first link: at startAt, or one delay
    later.
    """
    schedule, start = definition.schedule, definition.start_at
    assert isinstance(schedule, FixedDelay), definition
    return start if start is not None and start > after else after + schedule.delay_us


def first_chain(job: Job, after: Instant) -> Chain:
    """The chain of a job that begins after an instant."""
    definition = job.definition
    schedule = definition.schedule
    assert isinstance(schedule, FixedDelay), job
    chain = Chain(
        job=job.id,
        run=None,
        version=job.version,
        lane=lane_of(definition),
        traits=traits_of(definition),
        priority=definition.priority,
        delay_us=schedule.delay_us,
        late_us=late_us(definition),
        ends=definition.end_at,
        turns=None if definition.max_runs is None else definition.max_runs - 1,
        parked=definition.paused,
    )
    return chain.at(first_due(definition, after))


def following(chain: Chain, ended: Instant) -> Chain:
    """The chain after its link has ended. Counted never from before the link was due: one that was
    cancelled early still has its turn, and a clock that was set back gives no instant twice.
    """
    assert chain.due is not None, chain
    if chain.turns == 0:
        return chain._replace(run=None)
    turns = None if chain.turns is None else chain.turns - 1
    return chain._replace(turns=turns).at(max(ended, chain.due) + chain.delay_us)


def link_of(chain: Chain) -> NewRun | None:
    """The waiting run of a chain's link; None if the chain is over or held back."""
    if chain.run is None or chain.due is None or chain.parked:
        return None
    expires = None if chain.late_us is None else chain.due + chain.late_us
    return NewRun(
        job=chain.job,
        run=chain.run,
        version=chain.version,
        lane=chain.lane,
        traits=chain.traits,
        priority=chain.priority,
        due=chain.due,
        at=chain.due,
        expires=expires,
    )


class Edited(NamedTuple):
    """What an edit makes of a chain. `under_way`: its link is claimed, and stays as it is."""

    chain: Chain
    under_way: bool

    @property
    def run(self) -> NewRun | None:
        return None if self.under_way else link_of(self.chain)


def edited_chain(
    old: Definition, chain: Chain | None, job: Job, cut: Instant, *, under_way: bool
) -> Edited:
    """The chain of a new version of a job.

    1. One whose run is under way goes on after that, as the new version says.
    2. A link ahead stays where it is, unless the delay or startAt is new: that counts from now.
    3. What a pause held back has passed: the next one counts from the end of the pause.
    """
    new = job.definition
    fresh = first_chain(job, cut)
    if chain is None:
        return Edited(fresh, under_way=False)
    begun = old.schedule != new.schedule or old.start_at != new.start_at
    recounted = begun or old.max_runs != new.max_runs
    turns = fresh.turns if recounted else chain.turns
    if under_way:
        turns = new.max_runs if recounted else chain.turns
        return Edited(fresh._replace(run=chain.run, turns=turns), under_way=True)
    if chain.due is None:
        again = recounted or old.end_at != new.end_at
        return Edited(fresh if again else fresh._replace(run=None, turns=turns), under_way=False)
    kept = fresh._replace(turns=turns).at(chain.due)
    if begun or (chain.due <= cut and recounted and not new.paused):
        return Edited(fresh, under_way=False)
    if chain.due > cut or new.paused:
        return Edited(kept, under_way=False)
    return Edited(following(kept._replace(run=chain.run), cut), under_way=False)
