"""/metrics: what Prometheus reads."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from onthedot.core.instants import SECOND
from onthedot.core.views import Load
from onthedot.errors import StoreUnavailable
from tests.integration.test_api_kit import Api, an_api, check_problem
from tests.support import builders
from tests.support.roles import Failing, FaultyStore


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with an_api() as api:
        yield api


async def scrape(api: Api, path: str = "/metrics") -> dict[str, float]:
    response = await api.call("GET", path)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return {
        " ".join([sample.name, *sample.labels.values()]): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


@pytest.mark.parametrize("path", ["/metrics", "/v1/metrics"])
async def test_the_state_of_the_store_is_told(api: Api, path: str):
    node = await builders.a_node(api.store, api.clock)
    await api.store.nodes.beat(node, now=api.clock.now(), load=Load(running=3, held=1))
    gone = await builders.a_node(api.store, api.clock)
    await builders.kill(api.store, api.clock, gone)
    await builders.some_runs(api.store, api.clock, 2)
    api.clock.advance(5 * SECOND)

    found = await scrape(api, path)

    assert found["onthedot_queued_runs default"] == 2
    assert found["onthedot_queue_age_seconds default"] == 5
    assert (found["onthedot_nodes alive"], found["onthedot_nodes dead"]) == (1, 1)
    assert (found["onthedot_slots"], found["onthedot_slots_used"]) == (10, 3)
    assert (found["onthedot_healthy"], found["onthedot_store_up"]) == (1, 1)


async def test_the_store_is_asked_once_a_second_however_many_scrape(api: Api):
    asked = FaultyStore(api.store)
    async with an_api(store=asked) as watched:
        for _ in range(3):
            await scrape(watched)
        first = asked.calls["ledger.backlog"]
        watched.clock.advance(SECOND)
        await scrape(watched)

    assert (first, asked.calls["ledger.backlog"]) == (1, 2)


async def test_counters_are_told_while_the_database_does_not_answer(api: Api):
    broken = FaultyStore(api.store)
    broken.on("ledger.backlog", Failing(StoreUnavailable("away")))
    async with an_api(store=broken) as blind:
        found = await scrape(blind)

    assert found["onthedot_store_up"] == 0
    assert found["onthedot_attempts_started_total"] == 0
    assert "onthedot_dead_letters" not in found


async def test_there_are_never_more_than_a_hundred_queues(api: Api):
    for number in range(103):
        job = await builders.a_job(api.store, api.clock, queue=f"q{number}")
        await builders.a_run(api.store, api.clock, job)

    found: dict[str, Any] = await scrape(api)

    queues = {name: count for name, count in found.items() if name.startswith("onthedot_queued_")}
    assert len(queues) == 101
    assert queues["onthedot_queued_runs (other)"] == 3


async def test_metrics_need_the_key():
    async with an_api(key="secret") as api:
        check_problem(await api.call("GET", "/metrics"), 401)
        allowed = await api.call("GET", "/metrics", headers={"Authorization": "Bearer secret"})
        assert allowed.status_code == 200
