"""The figures of a bench, under the names that all of them share."""

from __future__ import annotations

from dataclasses import dataclass, field

from onthedot_bench.probes import Spent

Figure = float | int | str | None


@dataclass(slots=True)
class FigureSheet:
    """What the books say after the end: `lost` fell due and is nowhere, `recorded_twice` is there
    once more than it should be.
    """

    lost: int = 0
    recorded_twice: int = 0


@dataclass(slots=True)
class Found:
    """What a bench found. `runs` in `seconds` are those that were measured, `all_runs` those that
    the writing is counted over; `more` are figures of its own.
    """

    runs: int
    seconds: float
    lateness_s: list[float]
    spent: Spent
    ledger: FigureSheet
    all_runs: int = 0
    more: dict[str, Figure] = field(default_factory=dict)

    @property
    def is_sound(self) -> bool:
        return self.ledger.lost == 0 and self.ledger.recorded_twice == 0

    def figures(self) -> dict[str, Figure]:
        spent, runs = self.spent, max(1, self.runs)
        written = max(1, self.all_runs or self.runs)
        costs = spent.costs
        database = spent.database_s
        return {
            "runsPerSecond": round(self.runs / self.seconds) if self.seconds else 0,
            "p50LatenessMs": _ms(percentile(self.lateness_s, 0.50)),
            "p99LatenessMs": _ms(percentile(self.lateness_s, 0.99)),
            "maxLatenessMs": _ms(percentile(self.lateness_s, 1.0)),
            "timerFloorP99Ms": round(spent.timer_floor_p99_ms, 2),
            "rowVersionsPerRun": None if costs is None else round(costs.row_versions / written, 3),
            "walBytesPerRun": None if costs is None else round(costs.wal_bytes / written),
            "databaseMicrosPerRun": None if database is None else round(database * 1e6 / runs, 1),
            "pythonMicrosPerRun": round(spent.python_s * 1e6 / runs, 1),
            "rssMb": round(spent.rss_mb, 1),
            "runnerRssMb": None if spent.runner_rss_mb is None else round(spent.runner_rss_mb, 1),
            "lost": self.ledger.lost,
            "recordedTwice": self.ledger.recorded_twice,
            "runs": self.runs,
            "seconds": round(self.seconds, 2),
            **self.more,
        }


def percentile(values: list[float], share: float) -> float | None:
    """Of sorted values."""
    return values[min(len(values) - 1, int(len(values) * share))] if values else None


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1e3, 2)
