"""The page for people, the documentation, and the OpenAPI document."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from onthedot.core.instants import MILLISECOND, SECOND
from tests.integration.test_api_kit import Api, an_api, check_problem
from tests.support import builders

PAGES = ["/", "/docs"]

DESCRIBED = (
    r"/v1/(jobs|runs|schedules|calendars|zones|audit|dead-letters|nodes|overview)"
    r"|/(health|metrics)"
)


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with an_api() as api:
        yield api


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_runs_only_what_the_server_itself_serves(api: Api, path: str):
    response = await api.call("GET", path)

    assert response.headers["content-type"] == "text/html; charset=utf-8"
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert not re.search(r"<script(?![^>]*\bsrc=)|\bon\w+=|javascript:", response.text)
    assert not re.search(r"https?:|//", response.text)


@pytest.mark.parametrize("path", PAGES)
async def test_everything_a_page_asks_for_is_there(api: Api, path: str):
    page = (await api.call("GET", path)).text
    wanted = re.findall(r'(?:src|href)="(static/[^"]+)"', page)

    assert wanted
    for asset in wanted:
        response = await api.call("GET", f"/{asset}")
        assert response.status_code == 200
        again = await api.call(
            "GET", f"/{asset}", headers={"If-None-Match": response.headers["etag"]}
        )
        assert (again.status_code, again.content) == (304, b"")


async def test_our_own_scripts_never_write_markup(api: Api):
    for name in ("page.js", "docs.js"):
        script = (await api.call("GET", f"/static/{name}")).text
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script
        )


async def test_the_documentation_calls_nobody(api: Api):
    script = (await api.call("GET", "/static/docs.js")).text

    assert "validatorUrl: null" in script
    assert not re.search(r"https?://", script)


@pytest.mark.parametrize(
    "name", ["app.py", "..%2fapp.py", "%2e%2e/app.py", "swagger-ui.LICENSE", "", "a/b"]
)
async def test_only_the_pages_own_files_are_served(api: Api, name: str):
    check_problem(await api.call("GET", f"/static/{name}"), 404)


async def test_a_trailing_slash_leads_back_to_the_page(api: Api):
    response = await api.call("GET", "/docs/", follow_redirects=False)

    assert (response.status_code, response.headers["location"]) == (308, "../docs")


async def test_the_document_describes_every_route_and_no_other(api: Api):
    document = (await api.call("GET", "/openapi.json")).json()
    described = {
        (method.upper(), re.sub(r"\{.*?\}", "{}", path))
        for path, operations in document["paths"].items()
        for method in operations
    }
    routes = {
        (method, re.sub(r"\{.*?\}", "{}", path))
        for path, methods in api.application.router.methods.items()
        for method in methods
        if re.match(DESCRIBED, path)
    }

    assert document["openapi"].startswith("3.1.")
    assert described == routes


async def test_the_document_is_whole(api: Api):
    document = (await api.call("GET", "/openapi.json")).json()

    for reference in references(document):
        found: Any = document
        for step in reference.removeprefix("#/").split("/"):
            found = found[step]
    ids = [
        operation["operationId"]
        for operations in document["paths"].values()
        for operation in operations.values()
    ]
    assert len(set(ids)) == len(ids)
    job = document["components"]["schemas"]["JobIn"]
    assert set(job["required"]) == {"name"}
    assert all("description" in schema for schema in job["properties"].values())
    for path, operations in document["paths"].items():
        for operation in operations.values():
            named = {r["$ref"].rsplit("/", 1)[1] for r in operation["parameters"]}
            assert set(re.findall(r"\{(.*?)\}", path)) <= named


async def test_the_documented_example_is_accepted(api: Api):
    document = (await api.call("GET", "/openapi.json")).json()
    body = document["paths"]["/v1/jobs"]["post"]["requestBody"]["content"]["application/json"]

    response = await api.call("POST", "/v1/jobs", body["example"])

    assert response.status_code == 201
    schema = document["components"]["schemas"]["JobOut"]
    assert response.json().keys() == schema["properties"].keys()


async def test_the_overview_of_an_empty_server_is_empty(api: Api):
    overview = (await api.call("GET", "/v1/overview")).json()

    assert overview["health"]["status"] == "ok"
    assert overview["now"] == "2026-03-01T00:00:00Z"
    assert (overview["jobs"], overview["queued"]) == (0, 0)
    assert overview["live"] == overview["failed"] == overview["recent"] == []
    assert overview["lateness"] == {"count": 0, "p50Ms": None, "p95Ms": None, "maxMs": None}


async def test_the_overview_tells_what_runs_failed_comes_and_was_late(api: Api):
    node = await builders.a_node(api.store, api.clock)
    job = await api.store.jobs.get(await api.number(name="<b>nightly</b>"))
    for late_ms in (1, 2, 30):
        held = await builders.a_held_run(api.store, api.clock, node, job)
        done = builders.succeeded(held, api.clock, started=held.due + late_ms * MILLISECOND)
        await api.store.runs.finish(node, [done], now=api.clock.advance(SECOND))
    held = await builders.a_held_run(api.store, api.clock, node, job)
    failed = builders.failed(held, api.clock, reason="out of attempts", attempt=held.attempt)
    await api.store.runs.finish(node, [failed], now=api.clock.advance(SECOND))
    await builders.a_running_run(api.store, api.clock, node, job)
    await api.job(name="coming", every=60)

    overview = (await api.call("GET", "/v1/overview")).json()

    [running] = overview["live"]
    assert (running["status"], running["jobName"]) == ("running", "<b>nightly</b>")
    [dead] = overview["failed"]
    assert (dead["error"], dead["reason"]) == ("HTTP 500 Internal Server Error", "out of attempts")
    [coming] = overview["upcoming"]
    assert (coming["jobName"], coming["due"]) == ("coming", "2026-03-01T00:01:04Z")
    assert [run["latenessMs"] for run in overview["recent"]] == [0, 30, 2, 1]
    assert overview["lateness"] == {"count": 4, "p50Ms": 1, "p95Ms": 30, "maxMs": 30}
    assert overview["jobs"] == 2
