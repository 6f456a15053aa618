"""What the server says about itself: health, OpenAPI, the pages, and the view for sqlite3."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from onthedot.api.app import build
from tests.support.rest import instant_us

PAGES = {"", "/", "/docs", "/static/{}", "/openapi.json"}
METHODS = {"get", "post", "patch", "delete", "put"}
OUTSIDE = re.compile(r"""(?:src|href|action|url|@import|fetch)\s*[=(:]\s*["']?\s*(?:https?:)?//""")
LEDGER = [
    "job_id",
    "run_id",
    "scheduled_for",
    "status",
    "attempt",
    "started_at",
    "finished_at",
    "reason",
    "until",
    "count",
]


@pytest.fixture
def openapi(stage) -> dict[str, Any]:
    reply = stage.rest.get("/openapi.json")
    assert reply.status == 200
    assert reply.headers["content-type"] == "application/json"
    found: dict[str, Any] = reply.json
    return found


@pytest.mark.parametrize("path", ["/health", "/health/ready", "/v1/health"])
def test_a_healthy_node_says_so_with_its_roles(stage, path):
    reply = stage.rest.get(path)

    assert reply.status == 200
    assert reply.json["status"] == "ok"
    assert reply.json["problems"] == []
    assert reply.json["tzdata"].startswith("20")
    assert reply.json["roles"] == ["api", "scheduler", "worker", "janitor"]
    assert reply.json["node"] >= 1
    assert reply.json["version"]


def test_a_process_that_answers_is_alive(stage):
    reply = stage.rest.get("/health/live")

    assert (reply.status, reply.json) == (200, {"status": "ok"})


def test_the_openapi_document_is_3_1_and_whole(openapi):
    assert openapi["openapi"].startswith("3.1")
    assert openapi["info"]["title"] == "onthedot"
    operations = [(path, method) for path, item in openapi["paths"].items() for method in item]
    assert {method for _, method in operations} <= METHODS
    ids = [openapi["paths"][path][method]["operationId"] for path, method in operations]
    assert len(set(ids)) == len(ids)
    for path, method in operations:
        operation = openapi["paths"][path][method]
        assert operation["summary"]
        assert operation["responses"]
        assert all(answer.isdigit() for answer in operation["responses"])
        named = set(re.findall(r"\{(\w+)\}", path))
        given = {resolved(openapi, p)["name"] for p in operation["parameters"]}
        assert named <= given, f"{method} {path} does not declare {named - given}"


def test_every_reference_of_the_openapi_document_leads_somewhere(openapi):
    references = set(re.findall(r"'\$ref': '([^']+)'", str(openapi)))

    assert references
    for reference in references:
        assert resolved(openapi, {"$ref": reference})


def test_every_route_is_documented(openapi):
    documented = {
        (re.sub(r"\{\w+\}", "{}", path), method.upper())
        for path, item in openapi["paths"].items()
        for method in item
    }
    there = {
        (
            path.removeprefix("/v1") if path.startswith(("/v1/health", "/v1/metrics")) else path,
            method,
        )
        for path, methods in routes()
        for method in methods
        if path.startswith("/v1") and path.removeprefix("/v1") not in PAGES
    }
    assert there == documented
    bare = {path for path, _ in routes() if not path.startswith("/v1")}
    assert bare - PAGES == {path.removeprefix("/v1") for path, _ in there}


def routes() -> list[tuple[str, set[str]]]:
    """Every route of the application, as (path, methods)."""

    class Nothing:
        api_key = None
        version = "1"

    app = build(Nothing())  # type: ignore[arg-type]
    return [
        (re.sub(r"\{\w+\}", "{}", path), methods) for path, methods in app.router.methods.items()
    ]


def resolved(document: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    """A node, or what its reference points to."""
    if "$ref" not in node:
        return node
    found: Any = document
    for part in node["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("shape", "path"), [("JobOut", "/v1/jobs/{job}"), ("RunDetail", "/v1/runs/{run}")]
)
def test_the_answers_have_the_documented_fields(stage, openapi, shape, path):
    job = stage.job(every=3600)
    run_id = stage.trigger(job)
    stage.over(run_id)

    found = stage.rest.get(path.format(job=job["jobId"], run=run_id)).json

    assert set(found) == set(openapi["components"]["schemas"][shape]["properties"])


def test_the_documented_defaults_are_the_real_ones(stage, openapi):
    job = stage.job()
    declared = openapi["components"]["schemas"]["JobIn"]["properties"]

    defaults = {name: said["default"] for name, said in declared.items() if "default" in said}

    assert {"timeout", "retries", "priority", "timezone", "catchUp"} <= set(defaults)
    assert {name: job[name] for name in defaults} == defaults


@pytest.mark.parametrize("path", ["/", "/docs"])
def test_a_page_loads_nothing_from_outside(stage, path):
    page = stage.rest.get(path)
    assert page.status == 200
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    linked = re.findall(r'(?:src|href)="([^"]+)"', page.body.decode())
    assert linked

    for link in linked:
        assert not link.startswith(("http:", "https:", "//")), link
        if link.endswith((".js", ".css", ".svg")):
            asset = stage.rest.get(f"/{link.lstrip('./')}")
            assert asset.status == 200, link
            if "swagger" not in link:
                assert not OUTSIDE.search(asset.body.decode()), link
    assert not OUTSIDE.search(page.body.decode())


def test_the_page_is_told_what_runs_what_failed_and_what_comes(stage):
    slow = stage.job("/slow/3", name="slow")
    stage.trigger(slow)
    failed = stage.over(stage.trigger(stage.job("/status/404", name="broken")))
    soon = stage.job(name="soon", every=30)
    stage.called(slow)

    overview = stage.rest.get("/v1/overview").json

    assert overview["health"]["status"] == "ok"
    assert "slow" in {run["jobName"] for run in overview["live"]}
    assert failed["runId"] in {run["runId"] for run in overview["failed"]}
    assert (soon["jobId"], soon["nextRunAt"]) in {
        (coming["jobId"], coming["due"]) for coming in overview["upcoming"]
    }
    assert overview["lateness"]["count"] >= 1


def test_the_view_for_sqlite3_agrees_with_the_api_while_the_server_runs(stage):
    job = stage.job("/fail-times/1", backoff={"initial": 0.1, "max": 0.1})
    stage.over(stage.trigger(job))
    stage.over(stage.trigger(job))
    stage.trigger(job, delay=3600)

    with closing(sqlite3.connect(f"file:{stage.server.database}?mode=ro", uri=True)) as database:
        found = database.execute("select * from ledger where job_id = ?", (job["jobId"],))
        assert [column[0] for column in found.description] == LEDGER
        rows = {row[1]: dict(zip(LEDGER, row, strict=True)) for row in found}

    runs = stage.runs(job)
    assert {run["runId"] for run in runs} == set(rows)
    for run in runs:
        row = rows[run["runId"]]
        for column, name in (("status", "status"), ("attempt", "attempt"), ("reason", "reason")):
            assert row[column] == run[name]
        for column, name in (
            ("scheduled_for", "scheduledFor"),
            ("started_at", "startedAt"),
            ("finished_at", "finishedAt"),
        ):
            assert instant(row[column]) == instant(run[name])


def instant(text: str | None) -> int | None:
    return None if text is None else instant_us(text)


def test_no_two_schemas_have_the_same_title(openapi):
    titles = [schema.get("title") for schema in openapi["components"]["schemas"].values()]

    assert len(set(titles)) == len(titles)
