"""What a process counts from its start on. Plain numbers: counting must cost a run nothing."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from onthedot.core.instants import MILLISECOND, SECOND

LATENESS_MS: Final = (
    *(1, 2.5, 5, 10, 25, 50, 100, 250, 500),
    *(1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000),
)
"""Upper bounds of what is told apart: milliseconds matter, and so does whether it was minutes."""

_BOUNDS_US: Final = [int(bound * MILLISECOND) for bound in LATENESS_MS]


class Lateness:
    """How long after the instant at which they could start first attempts did start."""

    def __init__(self) -> None:
        self.counts = [0] * (len(_BOUNDS_US) + 1)
        self.sum_us = 0

    def add(self, us: int) -> None:
        self.counts[bisect_left(_BOUNDS_US, us)] += 1
        self.sum_us += us

    def cumulative(self) -> list[tuple[float, int]]:
        """(upper bound in seconds, so many up to it), the last one without a bound."""
        total, found = 0, []
        bounds = [us / SECOND for us in _BOUNDS_US] + [float("inf")]
        for bound, count in zip(bounds, self.counts, strict=True):
            total += count
            found.append((bound, total))
        return found


@dataclass(slots=True)
class Tally:
    """`ended`: attempts by what they came to, `retried` for those that another follows.
    `accounted`: occurrences that never became runs. `notices`: tries at delivering them, by what
    came of them. `calls`: of each verb of the store, how many
    and how many seconds they took; `failed_calls`: how many of them the store could not do.
    `node_faults`: calls that this node could not make, by what it lacked.
    `refused`: clients of the API, by the limit they went over.
    `unbalanced`: what the audit finds wrong, by kind of fault.
    """

    started: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    accounted: Counter[str] = field(default_factory=Counter)
    claims: int = 0
    fired: int = 0
    leased: int = 0
    given_back: int = 0
    rescued: int = 0
    lost: int = 0
    stale: int = 0
    repeated: int = 0
    node_faults: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    notices: Counter[str] = field(default_factory=Counter)
    audited: int = 0
    rounds: int = 0
    unbalanced: Counter[str] = field(default_factory=Counter)
    went_back: int = 0
    lateness: Lateness = field(default_factory=Lateness)
    loop_failures: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    call_seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    failed_calls: Counter[str] = field(default_factory=Counter)

    def loop_failed(self, name: str) -> None:
        self.loop_failures[name] += 1

    def account(self, ranges: Iterable[tuple[str, int | None]]) -> None:
        """Ranges that were recorded as missed or skipped; one too long to count counts as one."""
        for status, count in ranges:
            self.accounted[status] += 1 if count is None else count
