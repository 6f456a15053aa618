"""What is counted, and how it reads as Prometheus text."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from onthedot.core.instants import MILLISECOND, SECOND
from onthedot.errors import NotFound, StoreUnavailable, Taken
from onthedot.observe.metrics import Gauges, Scrape, render
from onthedot.observe.tally import Lateness, Tally
from onthedot.store.timed import NOUNS, timed
from tests.support.clock import ManualClock

GAUGES = Gauges(
    queued={"default": 3, 'odd "queue"\\': 1},
    oldest_s={"default": 0.5},
    waiting=4,
    dead_letters=2,
    set_aside=0,
    notices=6,
    notices_given_up=1,
    nodes={"alive": 2, "dead": 1},
    slots=200,
    slots_used=7,
)


def samples(scrape: Scrape) -> dict[tuple[str, str], float]:
    """Every sample by its name and its (only) label's value."""
    families = text_string_to_metric_families(render(scrape).decode())
    return {
        (sample.name, next(iter(sample.labels.values()), "")): sample.value
        for family in families
        for sample in family.samples
    }


def test_lateness_is_counted_up_to_each_bound():
    lateness = Lateness()
    for us in (0, 1 * MILLISECOND, 1_001, 400 * SECOND):
        lateness.add(us)

    counted = dict(lateness.cumulative())

    assert (counted[0.001], counted[0.0025], counted[300], counted[float("inf")]) == (2, 3, 3, 4)
    assert lateness.sum_us == 400 * SECOND + 2_001


def test_what_was_counted_is_told():
    tally = Tally(started=9, claims=4, fired=8, stale=1, repeated=2, rescued=3, lost=2)
    tally.ended.update(["succeeded", "succeeded", "retried"])
    tally.account([("missed", 5), ("missed", None), ("skipped", 2)])
    tally.loop_failed("finisher")
    tally.notices["put_off"] += 4
    tally.lateness.add(3 * MILLISECOND)

    found = samples(Scrape(tally, "0.1.0", True, GAUGES))

    assert found["onthedot_attempts_started_total", ""] == 9
    assert found["onthedot_attempts_ended_total", "succeeded"] == 2
    assert found["onthedot_runs_lost_total", ""] == 2
    assert found["onthedot_attempts_ended_total", "retried"] == 1
    assert found["onthedot_attempts_ended_total", "failed"] == 0
    assert found["onthedot_runs_fired_total", ""] == 8
    assert found["onthedot_runs_rescued_total", ""] == 3
    assert found["onthedot_outcomes_stale_total", ""] == 1
    assert found["onthedot_outcomes_repeated_total", ""] == 2
    assert found["onthedot_occurrences_not_run_total", "missed"] == 6
    assert found["onthedot_loop_failures_total", "finisher"] == 1
    assert found["onthedot_notices_total", "put_off"] == 4
    assert found["onthedot_notices_total", "given_up"] == 0
    assert found["onthedot_start_lateness_seconds_bucket", "0.0025"] == 0
    assert found["onthedot_start_lateness_seconds_bucket", "0.005"] == 1
    assert found["onthedot_start_lateness_seconds_sum", ""] == 0.003
    assert found["onthedot_build_info", "0.1.0"] == 1
    assert found["onthedot_healthy", ""] == 1


def test_the_state_of_the_cluster_is_told_if_it_could_be_read():
    found = samples(Scrape(Tally(), "0.1.0", True, GAUGES))
    blind = samples(Scrape(Tally(), "0.1.0", False, None))

    assert found["onthedot_queued_runs", "default"] == 3
    assert found["onthedot_queued_runs", 'odd "queue"\\'] == 1
    assert found["onthedot_dead_letters", ""] == 2
    assert found["onthedot_notices_pending", ""] == 6
    assert found["onthedot_notices_given_up", ""] == 1
    assert found["onthedot_nodes", "alive"] == 2
    assert (found["onthedot_slots", ""], found["onthedot_slots_used", ""]) == (200, 7)
    assert (found["onthedot_store_up", ""], blind["onthedot_store_up", ""]) == (1, 0)
    assert blind["onthedot_healthy", ""] == 0
    assert ("onthedot_dead_letters", "") not in blind


class Verbs:
    """A noun of a store whose every verb does what the test says."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.error: Exception | None = None

    async def act(self, said: str, *, now: int) -> str:
        self.clock.advance(2 * SECOND)
        if self.error is not None:
            raise self.error
        return f"{said} {now}"


async def test_calls_of_a_store_are_counted_and_timed():
    clock, tally = ManualClock(), Tally()
    verbs = Verbs(clock)
    store: Any = timed(type("Any", (), dict.fromkeys(NOUNS, verbs))(), tally, clock)

    answers = [await store.runs.act("x", now=5) for _ in range(2)]
    for verbs.error in (NotFound("no"), Taken("no"), StoreUnavailable("no")):
        with pytest.raises(type(verbs.error)):
            await store.jobs.act("x", now=5)

    assert answers == ["x 5", "x 5"]
    assert dict(tally.calls) == {"runs.act": 2, "jobs.act": 3}
    assert dict(tally.call_seconds) == {"runs.act": 4.0, "jobs.act": 6.0}
    assert dict(tally.failed_calls) == {"jobs.act": 1}
