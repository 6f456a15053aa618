"""What a seed switches on. Each seed has its own few kinds of fault, so that rare pairs meet often.

Rates are per call of the database or per minute. A call that may change much is struck more often
than one of the many that only look.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tests.simulation.line import Fault
from tests.simulation.process import ALL_ROLES, Build

if TYPE_CHECKING:
    from tests.simulation.process import Process

CALM_SHARE = 0.08
KIND_SHARE = 0.3
LOOKING = frozenset(
    {
        *("Clock.peek", "Clock.rules", "Runs.rescue", "Runs.signals", "_all"),
        *("Nodes.beat", "Nodes.declare_dead", "Nodes.all", "_NodesWithTime.time", "Runs.owned"),
        *("Jobs.execution_specs", "Upkeep.prune", "Ledger.page", "Ledger.story", "Jobs.page"),
    }
)
FIRE = "Clock.fire"
CLAIMING = frozenset({"Runs.promote", "Runs.lease", "Outbox.take"})
STRIKES = {
    "die": (Fault.DIE_BEFORE, Fault.DIE_AFTER),
    "stall": (Fault.STALL_BEFORE, Fault.STALL_AFTER),
    "hang": (Fault.HANG_BEFORE, Fault.HANG_AFTER),
    "cancel": (Fault.CANCEL_BEFORE, Fault.CANCEL_AFTER),
    "fail": (Fault.FAIL_BEFORE, Fault.FAIL_AFTER),
    "full": (Fault.FULL,),
}
BEFALLS = ("kill", "freeze", "stop", "hurry", "slow", "outage", "jump", "step", "crash")
CONDITIONS = ("skew", "drift", "deaf", "hard of hearing", "few slots", "split roles")
LATE = ("ghost", "echo", "meddle", "stuck")
KINDS = (*STRIKES, *BEFALLS, *CONDITIONS, *LATE)
MEDDLE_SHARE = 0.1

ORDINARY = datetime(2026, 5, 12, 9, 58, 20, tzinfo=UTC)
CHANGES = (  # when the clocks change, and where
    (datetime(2026, 3, 29, 1, 0, tzinfo=UTC), "Europe/Berlin"),
    (datetime(2026, 10, 25, 1, 0, tzinfo=UTC), "Europe/Berlin"),
    (datetime(2026, 3, 8, 7, 0, tzinfo=UTC), "America/New_York"),
    (datetime(2026, 11, 1, 6, 0, tzinfo=UTC), "America/New_York"),
    (datetime(2026, 4, 4, 15, 0, tzinfo=UTC), "Australia/Lord_Howe"),
    (datetime(2026, 10, 3, 15, 30, tzinfo=UTC), "Australia/Lord_Howe"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """All that a seed decides beforehand."""

    kinds: frozenset[str]
    start: int
    zone: str
    alone: bool
    builds: tuple[Build, ...]
    handlers: tuple[str, ...]
    latency_s: tuple[float, float]
    hints_lost: float
    jobs: int
    think_s: float
    clients: int

    @property
    def busy(self) -> bool:
        """Slots are scarce: jobs must be few and quick, or nothing would ever drain."""
        return "few slots" in self.kinds

    @property
    def calm(self) -> bool:
        return not self.kinds


def profile(seed: int) -> Profile:
    chance = random.Random(f"{seed}/profile")
    calm = chance.random() < CALM_SHARE
    alone = chance.random() < 0.15
    others = (*STRIKES, *BEFALLS, *CONDITIONS)
    kinds = frozenset() if calm else frozenset(_some(chance, others, KIND_SHARE))
    # A draw of its own, so that the others stay what they were.
    late = _some(random.Random(f"{seed}/late"), LATE, KIND_SHARE)
    kinds |= frozenset(() if calm else late)
    if alone:
        kinds -= {"skew", "drift", "split roles"}
    unsound = _some(chance, ("failing", "refusing", "flaky", "hanging", "stubborn"), 0.5)
    if "few slots" in kinds and "hanging" in unsound:
        unsound.remove("hanging")
    start, zone = _start(chance)
    return Profile(
        kinds=kinds,
        start=start,
        zone=zone,
        alone=alone,
        builds=_builds(chance, kinds, alone=alone),
        handlers=("ok", *unsound),
        latency_s=chance.choice(((0.0002, 0.003), (0.0002, 0.003), (0.001, 0.04))),
        hints_lost=1.0 if "deaf" in kinds else 0.5 if "hard of hearing" in kinds else 0.0,
        jobs=chance.randint(2, 5),
        think_s=chance.choice((1.5, 4.0, 10.0)),
        clients=chance.choice((1, 2, 2, 3)),
    )


def _some(chance: random.Random, of: tuple[str, ...], share: float) -> list[str]:
    return [each for each in of if chance.random() < share]


def _start(chance: random.Random) -> tuple[int, str]:
    if chance.random() < 0.7:
        return round(ORDINARY.timestamp() * 1e6) + chance.randrange(60_000_000), "UTC"
    change, zone = chance.choice(CHANGES)
    return round((change.timestamp() - chance.uniform(30, 200)) * 1e6), zone


def _builds(chance: random.Random, kinds: frozenset[str], *, alone: bool) -> tuple[Build, ...]:
    slots = chance.choice((1, 2, 3)) if "few slots" in kinds else 100
    grace_s = chance.choice((0.5, 5.0))
    if alone:
        return (Build(slots=slots, grace_s=grace_s, alone=True),)
    count = chance.choice((1, 1, 2, 2, 2, 3))
    roles: list[tuple[str, ...]] = [ALL_ROLES] * count
    if "split roles" in kinds:
        roles = chance.choice(
            (
                [("api", "scheduler", "janitor"), ("api", "worker")],
                [("api", "scheduler"), ("api", "worker"), ("api", "worker", "janitor")],
            )
        )
    return tuple(Build(roles=each, slots=slots, grace_s=grace_s) for each in roles)


@dataclass(slots=True)
class SwarmFaults:
    """Strikes calls by chance, while it is `on`."""

    profile: Profile
    chance: random.Random
    meddling: random.Random
    on: bool = True
    slow: dict[str, float] = field(default_factory=dict)
    dead_until: dict[str, float] = field(default_factory=dict)
    _strikes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._strikes = [kind for kind in STRIKES if kind in self.profile.kinds]

    def strike(self, process: Process, verb: str, *, writes: bool) -> Fault | None:
        if not self.on:
            return None
        if self.dead_until.get(process.name, 0.0) > process.world.loop.time():
            return Fault.FAIL_BEFORE
        if "meddle" in self.profile.kinds and verb == FIRE:
            if self.meddling.random() < MEDDLE_SHARE:
                return Fault.MEDDLE
        if not self._strikes:
            return None
        rate = 0.002 if verb in CLAIMING else 0.0006 if verb in LOOKING else 0.05
        if self.chance.random() >= rate:
            return None
        return self.chance.choice(STRIKES[self.chance.choice(self._strikes)])

    def stall_s(self) -> float:
        """Short ones, some near the lease of 15 s, and some far beyond it."""
        wait_s = self.chance.choice((0.3, 1.0, 5.0, 11.0, 15.0, 16.0, 17.0, 18.0, 25.0, 50.0))
        return wait_s * self.chance.uniform(0.85, 1.15)

    def latency_s(self, process: Process) -> float:
        low, high = self.profile.latency_s
        wait_s = self.chance.uniform(low, high)
        return wait_s * self.slow.get(process.name, 1.0) if self.slow else wait_s

    def changed(self, process: Process, verb: str, *, changed: bool) -> None:
        return

    def heal(self) -> None:
        self.on = False
        self.slow.clear()
        self.dead_until.clear()
