"""What a real server counts while it works."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from tests.integration.test_server_kit import QUICK, Stage
from tests.support.rest import eventually


def scrape(stage: Stage) -> dict[str, float]:
    reply = stage.rest.get("/metrics")
    assert reply.status == 200, reply.body
    return {
        " ".join([sample.name, *sample.labels.values()]): sample.value
        for family in text_string_to_metric_families(reply.body.decode())
        for sample in family.samples
    }


def test_attempts_outcomes_and_calls_of_the_store_are_counted(stage):
    before = scrape(stage)
    stage.ran("/fail-times/1", backoff=QUICK)
    stage.ran("/status/404")

    def grown(name: str) -> float:
        return scrape(stage)[name] - before.get(name, 0)

    eventually(lambda: grown("onthedot_attempts_ended_total failed") >= 1, "the failed attempt")
    assert grown("onthedot_attempts_started_total") >= 3
    assert grown("onthedot_attempts_ended_total retried") >= 1
    assert grown("onthedot_attempts_ended_total succeeded") >= 1
    assert grown("onthedot_start_lateness_seconds_count") >= 2
    assert grown("onthedot_store_calls_total runs.finish") >= 1
    assert grown("onthedot_store_call_seconds_total runs.finish") > 0
    after = scrape(stage)
    assert after["onthedot_nodes alive"] == 1
    assert after["onthedot_slots"] == 100
    assert after["onthedot_healthy"] == 1
    assert "process_resident_memory_bytes" in after
