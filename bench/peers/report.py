"""What was found, as a table for people: rates as ratios to ours, best of the repeats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench.peers.roster import OURS, Part

Figures = Mapping[str, float | None]
"""Of one measurement: perSecond, serverMicrosPerRun, p50Ms, p99Ms, …"""

MISSING = "-"
HEADINGS: dict[Part, tuple[str, ...]] = {
    "drained": ("PEER", "RUNS/S", "x OURS", "ALL REPEATS", "SERVER µs", "WORKER µs", "ENQUEUED/S"),
    "lateness": ("PEER", "P50 ms", "P99 ms", "MAX ms", "STARTED"),
    "recurring": ("PEER", "FIRED/S", "WANTED/S", "P50 ms", "P99 ms", "CPU %"),
}
_COLUMNS: dict[Part, tuple[str, ...]] = {
    "lateness": ("p50Ms", "p99Ms", "maxMs", "started"),
    "recurring": ("perSecond", "wantedPerSecond", "p50Ms", "p99Ms", "cpuPercent"),
}


@dataclass(slots=True)
class Found:
    """By part and peer: the figures of each repeat, or why there are none."""

    figures: dict[Part, dict[str, list[Figures]]] = field(default_factory=dict)
    missing: dict[Part, dict[str, str]] = field(default_factory=dict)

    def add(self, part: Part, peer: str, figures: Figures) -> None:
        self.figures.setdefault(part, {}).setdefault(peer, []).append(figures)

    def lacks(self, part: Part, peer: str, why: str) -> None:
        self.missing.setdefault(part, {})[peer] = why

    def ratio(self, peer: str) -> float | None:
        """How many runs a second it drains for each of ours."""
        drained = self.figures.get("drained", {})
        if peer not in drained or OURS not in drained:
            return None
        ours = best(drained[OURS]).get("perSecond")
        theirs = best(drained[peer]).get("perSecond")
        return theirs / ours if ours and theirs is not None else None

    def rows(self, part: Part) -> list[tuple[str, ...]]:
        found = self.figures.get(part, {})
        return [self._row(part, peer, found[peer]) for peer in found]

    def as_json(self) -> dict[str, object]:
        return {
            part: {
                "peers": {
                    peer: {
                        **best(found[peer]),
                        "repeats": found[peer],
                        **({"timesOurs": self.ratio(peer)} if part == "drained" else {}),
                    }
                    for peer in found
                },
                "missing": self.missing.get(part, {}),
            }
            for part, found in self.figures.items()
        }

    def _row(self, part: Part, peer: str, repeats: Sequence[Figures]) -> tuple[str, ...]:
        top = best(repeats)
        if part == "drained":
            every = " ".join(number(each.get("perSecond")) for each in repeats)
            ratio = self.ratio(peer)
            shown = MISSING if ratio is None else f"{ratio:.2f}"
            names = ("serverMicrosPerRun", "workerMicrosPerRun", "enqueuedPerSecond")
            rest = (number(top.get(name)) for name in names)
            return (peer, number(top.get("perSecond")), shown, every, *rest)
        return (peer, *(number(top.get(name)) for name in _COLUMNS[part]))


def best(repeats: Sequence[Figures]) -> Figures:
    """The quickest, or the least late."""
    if "perSecond" in repeats[0]:
        return max(repeats, key=lambda each: each.get("perSecond") or 0.0)
    return min(repeats, key=lambda each: _or_endless(each.get("p99Ms")))


def number(value: float | None) -> str:
    if value is None:
        return MISSING
    return f"{value:,.1f}" if abs(value) < 100 else f"{value:,.0f}"


def _or_endless(value: float | None) -> float:
    return float("inf") if value is None else value
