"""Which faults come when: decided by the seed before anything begins, so that it can be replayed.

The moments are the plan's; what the processes are doing at them is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import MappingProxyType

LEASE_S = 15.0
PAUSE_S = (0.1, 2.6)
WATCHED_EVERY_S = 45.0
AT_ONCE_MAX = 2
"""So many nodes at most are dead or stand still at one time: of three, one goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """How often a fault comes among the others, what it befalls, and how long it lasts. `rest_s`:
    how long what it befell is left alone afterwards. `strikes`: it is a kill or a stop. `watched`:
    meanwhile one other node and the database are left in peace. Whoever is to say that a node is
    dead must have been answered by the database for a whole lease.
    """

    weight: float
    place: str
    lasts_s: tuple[float, float] = (0.0, 0.0)
    rest_s: float = 1.0
    strikes: bool = False
    watched: bool = False


PROCESS, RUNNER, LINE, CLOCK, DATABASE = "process", "runner", "line", "clock", "database"
BEYOND_S = (LEASE_S + 3.0, LEASE_S + 7.0)

ON_POSTGRES: Mapping[str, Kind] = MappingProxyType(
    {
        "kill": Kind(weight=30, place=PROCESS, lasts_s=(0.0, 2.5), rest_s=4.0, strikes=True),
        "stop": Kind(weight=22, place=PROCESS, lasts_s=(0.1, 4.0), strikes=True),
        "freeze": Kind(
            weight=10, place=PROCESS, lasts_s=BEYOND_S, rest_s=3.0, strikes=True, watched=True
        ),
        "drain": Kind(weight=6, place=PROCESS, lasts_s=(0.0, 1.0), rest_s=9.0),
        "slow": Kind(weight=4, place=LINE, lasts_s=(1.0, 8.0)),
        "reset": Kind(weight=6, place=LINE),
        "flaky": Kind(weight=4, place=LINE, lasts_s=(1.0, 6.0)),
        "refuse": Kind(weight=4, place=LINE, lasts_s=(0.5, 8.0)),
        "hold": Kind(weight=5, place=LINE, lasts_s=(0.5, 8.0)),
        "lose": Kind(weight=5, place=LINE, lasts_s=(0.5, 8.0), rest_s=10.0),
        "sever": Kind(weight=6, place=LINE, lasts_s=BEYOND_S, rest_s=10.0, watched=True),
        "cut backend": Kind(weight=5, place=DATABASE),
        "kill backend": Kind(weight=2, place=DATABASE, rest_s=4.0, strikes=True),
        "stop database": Kind(
            weight=2, place=DATABASE, lasts_s=(0.0, 3.0), rest_s=5.0, strikes=True
        ),
        "kill database": Kind(
            weight=2, place=DATABASE, lasts_s=(0.0, 3.0), rest_s=5.0, strikes=True
        ),
        "set clock": Kind(weight=4, place=CLOCK, lasts_s=(2.0, 12.0), rest_s=4.0),
    }
)
WITH_RUNNERS: Mapping[str, Kind] = MappingProxyType(
    {"kill runner": Kind(weight=25, place=RUNNER, rest_s=1.5, strikes=True)}
)
ON_SQLITE: Mapping[str, Kind] = MappingProxyType(
    {
        "kill": Kind(weight=30, place=PROCESS, lasts_s=(0.0, 2.5), rest_s=5.0, strikes=True),
        "stop": Kind(weight=20, place=PROCESS, lasts_s=(0.1, 4.0), rest_s=2.0, strikes=True),
        "freeze": Kind(weight=1, place=PROCESS, lasts_s=BEYOND_S, rest_s=5.0, strikes=True),
        "drain": Kind(weight=8, place=PROCESS, lasts_s=(0.0, 1.0), rest_s=8.0),
        "fill disk": Kind(weight=20, place=DATABASE, lasts_s=(0.5, 4.0), rest_s=10.0),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """`draw`, from [0, 1), is for whatever else must be chosen."""

    at_s: float
    kind: str
    node: int
    lasts_s: float
    draw: float


class Plan:
    """What is free when, and the faults so far."""

    def __init__(self, kinds: Mapping[str, Kind], nodes: int, seconds: float) -> None:
        self.faults: list[Fault] = []
        self._kinds = kinds
        self._nodes = nodes
        self._seconds = seconds
        self._free: dict[tuple[str, int], float] = {}
        self._down: list[float] = []

    def add(self, fault: Fault) -> bool:
        """Whether there was room for it."""
        kind = self._kinds[fault.kind]
        end = fault.at_s + fault.lasts_s + kind.rest_s
        places = self._places(fault)
        self._down = [each for each in self._down if each > fault.at_s]
        crowded = kind.place == PROCESS and len(self._down) >= min(AT_ONCE_MAX, self._nodes)
        busy = any(self._free.get(place, 0.0) > fault.at_s for place in places)
        if crowded or busy or end > self._seconds:
            return False
        self._free |= dict.fromkeys(places, end)
        if kind.place == PROCESS:
            self._down.append(end)
        self.faults.append(fault)
        return True

    def _places(self, fault: Fault) -> list[tuple[str, int]]:
        """What it befalls, and what must be left in peace meanwhile."""
        kind = self._kinds[fault.kind]
        places = [(kind.place, 0 if kind.place == DATABASE else fault.node)]
        if kind.watched and self._nodes > 1:
            witness = (fault.node + 1) % self._nodes
            places += [(PROCESS, witness), (LINE, witness), (CLOCK, witness), (DATABASE, 0)]
        return places


def plan(
    kinds: Mapping[str, Kind], nodes: int, seconds: float, seed: int, first: Sequence[str] = ()
) -> list[Fault]:
    """Faults until the time is over, each at an end before it is.

    The kinds in `first` come first, to node 0, whatever chance says: a short run must show what
    they alone can show. Watched ones, which need calm, would hardly ever find room by chance: for
    one of them everything else waits now and then.
    """
    chance = Random(seed)
    made = Plan(kinds, nodes, seconds)
    watched = [name for name, kind in kinds.items() if kind.watched]
    ahead = list(first)
    next_watched_s = WATCHED_EVERY_S
    at_s = chance.uniform(*PAUSE_S)
    while at_s < seconds:
        if watched and next_watched_s <= at_s < seconds - WATCHED_EVERY_S:
            ahead.append(chance.choice(watched))
            next_watched_s += WATCHED_EVERY_S
        name = ahead[0] if ahead else _choose(kinds, chance)
        fault = Fault(
            at_s=at_s,
            kind=name,
            node=chance.randrange(nodes) if made.faults else 0,
            lasts_s=chance.uniform(*kinds[name].lasts_s),
            draw=chance.random(),
        )
        if made.add(fault):
            ahead = ahead[1:]
            at_s += chance.uniform(*PAUSE_S)
        else:
            at_s += 0.1
    assert not ahead, f"no room for {ahead} in {seconds:g} s"
    return made.faults


def _choose(kinds: Mapping[str, Kind], chance: Random) -> str:
    names: Sequence[str] = list(kinds)
    (name,) = chance.choices(names, [kinds[each].weight for each in names])
    return name
