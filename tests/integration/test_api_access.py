"""Who may call the API, and how failures are told."""

from __future__ import annotations

import base64
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from onthedot.api.http import Message
from onthedot.errors import NodeDead, OnthedotError, StoreFull, StoreUnavailable, Taken
from tests.integration.test_api_kit import JOB, Api, an_api, check_problem

KEY = "correct horse"
BASIC = base64.b64encode(f"me:{KEY}".encode()).decode()


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with an_api() as api:
        yield api


class Failing:
    """A store at its worst moment: whatever is asked, it fails."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __getattr__(self, name: str) -> Any:
        return Verbs(self.error)


class Verbs(Failing):
    def __getattr__(self, name: str) -> Any:
        async def verb(*arguments: Any, **named: Any) -> None:
            raise self.error

        return verb


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer"},
        {"Authorization": f"Token {KEY}"},
        {"Authorization": "Basic !!!"},
        {"Authorization": "Basic " + base64.b64encode(KEY.encode()).decode()},
        {"X-API-Key": "correct"},
        {"X-API-Key": KEY + "x"},
        {"X-API-Key": ""},
        {"Cookie": f"key={KEY}"},
    ],
)
async def test_without_the_key_nothing_is_told(headers: dict[str, str]):
    async with an_api(key=KEY) as api:
        for path in ("/v1/jobs", "/", "/docs", "/openapi.json", "/nowhere", "//health"):
            response = await api.call("GET", path, headers=headers)

            check_problem(response, 401, "API key")
            assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": f"Bearer {KEY}"},
        {"authorization": f"bearer  {KEY}"},
        {"X-API-Key": KEY},
        {"Authorization": f"Basic {BASIC}"},
        {"Authorization": "Bearer wrong", "X-API-Key": KEY},
    ],
)
async def test_with_the_key_the_api_answers(headers: dict[str, str]):
    async with an_api(key=KEY) as api:
        assert (await api.call("GET", "/v1/jobs", headers=headers)).status_code == 200
        check_problem(await api.call("GET", "/nowhere", headers=headers), 404)


@pytest.mark.parametrize("path", ["/health", "/health/live", "/health/ready", "/v1/health"])
async def test_probes_need_no_key(path: str):
    async with an_api(key=KEY) as api:
        assert (await api.call("GET", path)).status_code == 200


async def test_a_browser_is_asked_for_the_key_when_it_wants_a_page():
    async with an_api(key=KEY) as api:
        response = await api.call("GET", "/", headers={"Accept": "text/html,*/*"})

        assert response.headers["www-authenticate"].startswith("Basic")


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://testserver.local:81", "null", "x", "http://[", ""]
)
async def test_a_page_of_another_site_cannot_write(api: Api, origin: str):
    job = (await api.job())["jobId"]
    headers = {"Origin": origin}

    for method, path in (
        ("POST", "/v1/jobs"),
        ("PATCH", f"/v1/jobs/{job}"),
        ("DELETE", f"/v1/jobs/{job}"),
        ("POST", f"/v1/jobs/{job}/trigger"),
    ):
        check_problem(await api.call(method, path, headers=headers), 403, "another site")
    assert (await api.call("GET", f"/v1/jobs/{job}")).json()["version"] == 1


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://testserver.local", "testserver.local"),
        ("http://testserver.local:80", "testserver.local"),
        ("https://Onthedot.Example", "onthedot.example"),
        ("https://onthedot.example", "onthedot.example:443"),
        ("http://127.0.0.1:8467", "127.0.0.1:8467"),
        ("http://[::1]:8467", "[::1]:8467"),
    ],
)
async def test_a_page_of_the_same_origin_can_write(api: Api, origin: str, host: str):
    response = await api.call("POST", "/v1/jobs", JOB, headers={"Origin": origin, "Host": host})

    assert response.status_code == 201


async def test_no_answer_may_be_sniffed_framed_or_cached(api: Api):
    for path in ("/v1/jobs", "/nowhere", "/health"):
        headers = (await api.call("GET", path)).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[]", 400),
        (b"\xff", 400),
        (b"[" * 200_000, 400),
        (b"", 422),
        (b"{}", 422),
        (b'{"name": "\\ud800"}', 422),
        (b" " * (256 * 1024 + 1), 413),
    ],
)
async def test_a_wrong_body_is_a_problem_of_the_caller(api: Api, body: bytes, status: int):
    check_problem_status(await api.call("POST", "/v1/jobs", content=body), status)


async def test_a_body_that_grows_without_end_is_cut_off(api: Api):
    sent: list[Message] = []

    async def more() -> dict[str, Any]:
        return {"type": "http.request", "body": b" " * 1024, "more_body": True}

    async def send(message: Message) -> None:
        sent.append(message)

    path = {"path": "/v1/jobs", "raw_path": b"/v1/jobs", "query_string": b"", "root_path": ""}
    scope = {"type": "http", "method": "POST", "headers": [(b"host", b"x")], **path}
    await api.application(scope, more, send)

    assert sent[0]["status"] == 413


async def test_a_form_without_the_right_content_type_is_read_as_json(api: Api):
    response = await api.call(
        "POST",
        "/jobs",
        content=b'{"name": "curl -d", "handlerUrl": "http://x/"}',
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )

    assert response.status_code == 201


async def test_an_unknown_path_or_method_is_a_problem_too(api: Api):
    missing = await api.call("GET", "/v1/jbos")
    wrong = await api.call("PUT", "/v1/jobs/job-1", {})

    check_problem(missing, 404, "GET /v1/jbos")
    check_problem(wrong, 405, "PUT /v1/jobs/job-1")
    assert {"DELETE", "GET", "PATCH"} <= set(wrong.headers["allow"].split(", "))


async def test_head_is_get_without_the_body(api: Api):
    got, head = await api.call("GET", "/health"), await api.call("HEAD", "/health")

    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == got.headers["content-length"]


async def test_health_says_why_it_is_bad(api: Api):
    api.problems = ("the scheduler has not looked at its shards for 12 s",)

    for path in ("/health", "/health/ready"):
        response = await api.call("GET", path)
        assert response.status_code == 503
        assert response.json()["status"] == "failing"
        assert response.json()["problems"] == list(api.problems)
    assert (await api.call("GET", "/health/live")).status_code == 200


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (StoreUnavailable("the database is locked"), 503),
        (StoreFull("the disk is full"), 507),
        (Taken("somebody was faster"), 503),
    ],
)
@pytest.mark.parametrize(("method", "path"), [("POST", "/v1/jobs"), ("GET", "/v1/jobs")])
async def test_a_failing_store_is_told_with_its_reason(
    error: OnthedotError, status: int, method: str, path: str
):
    async with an_api(store=Failing(error)) as api:
        response = await api.call(method, path, JOB if method == "POST" else None)

        check_problem(response, status, error.message)
        assert ("retry-after" in response.headers) == (status == 503)


@pytest.mark.parametrize("error", [ZeroDivisionError("secret detail"), NodeDead("secret detail")])
async def test_our_own_mistake_goes_to_the_log_and_not_to_the_caller(
    error: Exception, caplog: pytest.LogCaptureFixture
):
    async with an_api(store=Failing(error)) as api:
        with caplog.at_level(logging.WARNING, logger="onthedot"):
            response = await api.call("GET", "/v1/overview")

    check_problem(response, 500, "the server failed")
    assert "secret" not in response.text
    assert "Traceback" not in response.text
    assert "api.failed" in caplog.text
    assert "secret detail" in caplog.text


def check_problem_status(response: Any, status: int) -> None:
    check_problem(response, status, at=response.json().get("field"))
