"""The text of `/metrics`: what this process has counted, and gauges read from the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from onthedot.core.node_faults import NodeFault
from onthedot.observe.tally import Tally

_OUTCOMES: Final = ("succeeded", "failed", "retried", "cancelled", "lost")
_REFUSALS: Final = (
    *("request_line", "header_bytes", "header_count", "body_bytes", "not_http", "too_slow"),
    *("unread", "pipelined", "memory", "connections", "connections_per_address", "cannot_accept"),
)
MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauges:
    """The state of the whole cluster as the store shows it; each process tells the same.

    `queued` and `oldest_s` are by queue, `nodes` by state (alive, dead).
    """

    queued: Mapping[str, int]
    oldest_s: Mapping[str, float]
    waiting: int
    dead_letters: int
    set_aside: int
    notices: int
    notices_given_up: int
    nodes: Mapping[str, int]
    slots: int
    slots_used: int


@dataclass(frozen=True, slots=True)
class Scrape:
    """All that one answer is made from. `gauges` None: the database does not answer."""

    tally: Tally
    version: str
    healthy: bool
    gauges: Gauges | None = None


def render(scrape: Scrape) -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Once(scrape))
    ProcessCollector(registry=registry)
    return generate_latest(registry)


class _Once(Collector):
    def __init__(self, scrape: Scrape) -> None:
        self._scrape = scrape

    def collect(self) -> Iterable[Metric]:
        scrape = self._scrape
        yield _gauge(
            "build_info", "The version that runs; always 1.", {scrape.version: 1}, "version"
        )
        yield _gauge("healthy", "1 while /health answers 200.", int(scrape.healthy))
        answers = int(scrape.gauges is not None)
        yield _gauge("store_up", "1 if the gauges could be read from the database.", answers)
        yield from _counted(scrape.tally)
        if scrape.gauges is not None:
            yield from _read(scrape.gauges)


def _counted(tally: Tally) -> Iterable[Metric]:
    yield _counter("attempts_started", "Attempts that were started.", tally.started)
    yield _counter(
        *("attempts_ended", "Attempts by what they came to; another follows a retried one."),
        {name: tally.ended[name] for name in _OUTCOMES},
        "outcome",
    )
    yield _counter("runs_rescued", "Runs taken over from dead nodes.", tally.rescued)
    yield _counter("runs_lost", "At-most-once runs whose outcome is unknown.", tally.lost)
    yield _counter("runs_leased", "Runs taken from queues.", tally.leased)
    yield _counter("runs_given_back", "Claimed runs handed back unstarted.", tally.given_back)
    yield _counter("runs_fired", "Runs made from due occurrences.", tally.fired)
    yield _counter("claims", "Claims of due occurrences.", tally.claims)
    yield _counter(
        *("occurrences_not_run", "Occurrences recorded without a run."),
        {name: tally.accounted[name] for name in ("missed", "skipped")},
        "status",
    )
    yield _gauge(
        "unaccounted_occurrences",
        "Due, and without a fate in the ledger, by the last round of the audit: 0 if all is well.",
        tally.unbalanced["unaccounted"],
    )
    yield _gauge(
        "surplus_occurrences",
        "Recorded, and not due or recorded twice, or ranges with a wrong count: 0 if all is well.",
        tally.unbalanced["surplus"] + tally.unbalanced["miscounted"],
    )
    yield _counter("occurrences_audited", "Occurrences that were audited.", tally.audited)
    yield _counter("audit_rounds", "Rounds over the books of all jobs.", tally.rounds)
    yield _counter("outcomes_stale", "Outcomes refused: others had the run.", tally.stale)
    yield _counter("outcomes_repeated", "Outcomes that were recorded already.", tally.repeated)
    yield _counter(
        *("notices", "Tries at delivering notices of failed runs, by what came of them."),
        {name: tally.notices[name] for name in ("delivered", "put_off", "given_up")},
        "outcome",
    )
    yield from _hindered(tally)
    buckets = [
        ("+Inf" if bound == float("inf") else f"{bound:g}", count)
        for bound, count in tally.lateness.cumulative()
    ]
    yield HistogramMetricFamily(
        "onthedot_start_lateness_seconds",
        "How long after the instant at which they could start first attempts started.",
        buckets=buckets,
        sum_value=tally.lateness.sum_us / 1e6,
    )
    yield _counter(
        "store_went_back", "Rollbacks of the database that were noticed.", tally.went_back
    )
    yield _counter("loop_failures", "Failed steps of loops.", tally.loop_failures, "loop")
    yield _counter("store_calls", "Calls of the store.", tally.calls, "verb")
    yield _counter("store_call_seconds", "What they took.", tally.call_seconds, "verb")
    yield _counter("store_calls_failed", "Those that failed.", tally.failed_calls, "verb")


def _hindered(tally: Tally) -> Iterable[Metric]:
    yield _counter(
        *("node_faults", "Calls that this node could not make, by what it lacked."),
        {str(fault): tally.node_faults[fault] for fault in NodeFault},
        "fault",
    )
    yield _counter(
        *("api_refused", "Connections and requests refused, by the limit they went over."),
        {name: tally.refused[name] for name in _REFUSALS},
        "reason",
    )


def _read(gauges: Gauges) -> Iterable[Metric]:
    yield _gauge("queued_runs", "Due runs that nobody holds.", gauges.queued, "queue")
    yield _gauge("queue_age_seconds", "Since when the oldest waits.", gauges.oldest_s, "queue")
    yield _gauge("waiting_runs", "Delayed, one-off and retried runs to come.", gauges.waiting)
    yield _gauge("dead_letters", "Failed for good and not dealt with.", gauges.dead_letters)
    yield _gauge(
        "entries_set_aside", "Entries of the clock that cannot be fired.", gauges.set_aside
    )
    yield _gauge("notices_pending", "Notices of failed runs to deliver.", gauges.notices)
    yield _gauge(
        "notices_given_up", "Those nobody received, until retention.", gauges.notices_given_up
    )
    yield _gauge("nodes", "Nodes that are remembered, by state.", gauges.nodes, "state")
    yield _gauge("slots", "Slots of all workers that are alive.", gauges.slots)
    yield _gauge("slots_used", "How many of them are taken.", gauges.slots_used)


Values = float | Mapping[str, int] | Mapping[str, float]


def _counter(name: str, about: str, values: Values, label: str = "") -> Metric:
    return _filled(CounterMetricFamily(f"onthedot_{name}", about, labels=_labels(label)), values)


def _gauge(name: str, about: str, values: Values, label: str = "") -> Metric:
    return _filled(GaugeMetricFamily(f"onthedot_{name}", about, labels=_labels(label)), values)


def _labels(label: str) -> list[str]:
    return [label] if label else []


def _filled(family: CounterMetricFamily | GaugeMetricFamily, values: Values) -> Metric:
    if isinstance(values, Mapping):
        for name, value in sorted(values.items()):
            family.add_metric([name], value)
    else:
        family.add_metric([], values)
    return family
