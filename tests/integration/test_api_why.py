"""Explanations over HTTP: the facts are those of the store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from onthedot.core.instants import HOUR, MINUTE, SECOND
from onthedot.core.views import Load
from onthedot.ids import parse_job_id, run_id
from tests.integration.test_api_kit import Api, an_api, check_problem
from tests.support import builders
from tests.support.builders import RunKey, facts


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with an_api() as api:
        yield api


async def why(api: Api, path: str) -> dict[str, Any]:
    response = await api.call("GET", f"{path}/why")
    assert response.status_code == 200, response.text
    said: dict[str, Any] = response.json()
    return said


def found(said: dict[str, Any], check: str) -> dict[str, Any]:
    [finding] = [each for each in said["findings"] if each["check"] == check]
    return dict(finding)


@pytest.mark.parametrize("prefix", ["/v1", ""])
async def test_a_job_is_explained_check_by_check(api: Api, prefix: str):
    job = (await api.job(every=60, paused=True))["jobId"]

    said = await why(api, f"{prefix}/jobs/{job}")

    assert (said["jobId"], said["runId"]) == (job, None)
    assert said["summary"].startswith("it is paused since 2026-03-01T00:00:00Z")
    assert found(said, "job") == {
        "check": "job",
        "verdict": "ok",
        "found": "it exists: 'report', version 1",
        "fix": None,
    }
    assert found(said, "paused")["fix"] == f"onthedot job resume {job}"
    assert found(said, "scheduler")["found"] == "no scheduler is alive"


async def test_nodes_and_their_queues_are_facts(api: Api):
    job = (await api.job(every=60, queue="mail"))["jobId"]
    other = replace(facts(), queues=("reports",))
    node = await api.store.nodes.join(other, now=api.clock.now())

    deaf = await why(api, f"/v1/jobs/{job}")
    await builders.kill(api.store, api.clock, node)
    fit = replace(facts(), queues=("reports", "mail"))
    node = await api.store.nodes.join(fit, now=api.clock.now())
    heard = await why(api, f"/v1/jobs/{job}")
    await api.store.nodes.beat(node, now=api.clock.now(), load=Load(10, 0, 6 * SECOND, False))
    off = await why(api, f"/v1/jobs/{job}")

    assert found(deaf, "worker")["found"] == "no worker takes runs of queue 'mail'"
    assert found(heard, "worker")["verdict"] == found(heard, "scheduler")["verdict"] == "ok"
    assert "6 s off" in found(off, "scheduler")["found"]


async def test_an_unfired_instant_is_found_and_a_fired_one_is_not(api: Api):
    job = (await api.job(every=60))["jobId"]
    api.clock.advance(90 * SECOND)

    late = await why(api, f"/v1/jobs/{job}")
    node = await builders.a_node(api.store, api.clock)
    [run] = await builders.claim(api.store, api.clock, node)
    fired = await why(api, f"/v1/jobs/{job}")
    await builders.finish(api.store, api.clock, node, run)
    for _ in range(25):  # more triggered runs than are looked through
        await builders.a_run(api.store, api.clock, await api.store.jobs.get(run.job))
    still = await why(api, f"/v1/jobs/{job}")

    assert "2026-03-01T00:01:00Z (30 s ago), and nobody" in found(late, "fired")["found"]
    assert found(fired, "fired")["verdict"] == "ok"
    assert found(still, "fired")["verdict"] == "ok"


async def test_a_calendar_that_left_an_instant_out_is_named_with_its_rule(api: Api):
    rules = {"exclude": ["2026-03-01", "12-25"]}
    assert (await api.call("PUT", "/v1/calendars/holidays", rules)).status_code == 201
    job = (await api.job(cronExpr="0 * * * *", calendar="holidays"))["jobId"]
    api.clock.advance(90 * MINUTE)

    said = await why(api, f"/v1/jobs/{job}")

    assert found(said, "calendar") == {
        "check": "calendar",
        "verdict": "note",
        "found": "calendar 'holidays' (version 1) leaves out 2026-03-01T01:00:00Z (30 min ago): "
        "exclude has '2026-03-01'",
        "fix": "If that is not meant: onthedot calendar show holidays",
    }


async def test_the_chain_of_a_fixed_delay_names_its_link_wherever_that_is(api: Api):
    job = (await api.job(fixedDelay=60))["jobId"]
    node = await builders.a_node(api.store, api.clock)

    waiting = found(await why(api, f"/v1/jobs/{job}"), "chain")["found"]
    api.clock.advance(MINUTE)
    [run] = await builders.promote(api.store, api.clock, node)
    under_way = found(await why(api, f"/v1/jobs/{job}"), "chain")["found"]
    await builders.finish(api.store, api.clock, node, run)
    following = found(await why(api, f"/v1/jobs/{job}"), "chain")["found"]

    first = run_id(api.installation, run.job, run.run)
    assert waiting.startswith(f"its latest link is run {first}, due at 2026-03-01T00:01:00Z (in")
    assert under_way.startswith(f"its latest link is run {first}, which could start since")
    assert "due at 2026-03-01T00:02:00Z (in 1 min)" in following
    assert first not in following


async def test_a_missed_range_accounts_for_its_instants(api: Api):
    job = (await api.job(every=60, catchUp="none"))["jobId"]
    api.clock.advance(HOUR)
    node = await builders.a_node(api.store, api.clock)
    await builders.claim(api.store, api.clock, node)
    api.clock.advance(6 * SECOND)

    said = await why(api, f"/v1/jobs/{job}")

    assert found(said, "fired")["verdict"] == "ok"
    assert "were missed" in found(said, "last run")["found"]


async def test_a_run_is_explained_from_its_making_to_its_end(api: Api):
    job = (await api.job())["jobId"]
    number = parse_job_id(job)
    node = await builders.a_node(api.store, api.clock)

    def path(run: RunKey) -> str:
        return f"/v1/runs/{run_id(api.installation, run.job, run.run)}"

    later = await builders.a_run(
        api.store, api.clock, await api.store.jobs.get(number), due=api.clock.now() + HOUR
    )
    held = await builders.a_held_run(api.store, api.clock, node, await api.store.jobs.get(number))
    assert "in 1 h" in (await why(api, path(later)))["summary"]
    assert "node 1 holds it" in found(await why(api, path(builders.key_of(held))), "node")["found"]

    outcome = builders.failed(held, api.clock, retry_at=api.clock.now() + MINUTE)
    await api.store.runs.finish(node, [outcome], now=api.clock.now())
    waiting = await why(api, path(builders.key_of(held)))
    assert "waits for attempt 2" in found(waiting, "due")["found"]
    assert "HTTP 500" in waiting["summary"]

    api.clock.advance(MINUTE)
    [again] = await builders.promote(api.store, api.clock, node)
    await api.store.runs.finish(node, [builders.failed(again, api.clock)], now=api.clock.now())
    over = await why(api, path(builders.key_of(again)))
    assert over["jobId"] == job
    assert "onthedot run redrive" in found(over, "end")["fix"]

    await api.call("DELETE", f"/v1/jobs/{job}")
    assert "was deleted" in found(await why(api, path(later)), "job")["found"]


async def test_what_is_not_there_cannot_be_explained(api: Api):
    for path in ("/v1/jobs/job-99/why", f"/v1/runs/{run_id(api.installation, 1, 5)}/why"):
        check_problem(await api.call("GET", path), 404)
