"""Notices of failed runs, from a real server to a real receiver."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.integration.test_server_kit import QUICK, Stage
from tests.support.receiver import Receiver
from tests.support.rest import eventually
from tests.support.server import Server, free_port

SECRET = "a-secret-for-these-tests"
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide.md"


@pytest.fixture(scope="module")
def telling(tmp_path_factory, receiver):
    """A server that signs what it tells."""
    folder = tmp_path_factory.mktemp("telling")
    with Server(folder, environment={"ONTHEDOT_WEBHOOK_SECRET": SECRET}) as server:
        yield Stage(server, receiver)


def documented_check() -> Any:
    """The check of a signature, as the guide has it."""
    [code] = re.findall(r"^import hashlib, hmac, time\n.*?(?=^if __name__)", *searched())
    names: dict[str, Any] = {}
    exec(code, names)
    return names["is_genuine"]


def searched() -> tuple[str, re.RegexFlag]:
    return GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL


def told(stage: Stage, path: str, run_id: str, count: int = 1) -> list[Any]:
    """The notices of a run that came to a path, as soon as there are so many."""

    def enough() -> list[Any] | None:
        calls = [call for call in stage.receiver.calls(path) if call.json["runId"] == run_id]
        return calls if len(calls) >= count else None

    found = eventually(enough, f"{count} notices of {run_id}", within_s=20)
    assert found is not None
    return found


def test_a_failed_run_is_told_with_a_signature_that_the_documented_check_accepts(telling):
    pager = {"url": telling.receiver.url + "/ok?pager=1"}
    job = telling.job("/status/404", name="reindex", key="shop/reindex", onFailure=pager)
    run = telling.over(telling.trigger(job))

    [call] = told(telling, "/ok?pager=1", run["runId"])

    is_genuine = documented_check()
    assert call.method == "POST"
    assert call.json == {
        "deliveryId": f"{run['runId']}-failure",
        "type": "run.failed",
        "runId": run["runId"],
        "jobId": job["jobId"],
        "jobKey": "shop/reindex",
        "jobName": "reindex",
        "status": "failed",
        "scheduledFor": run["scheduledFor"],
        "finishedAt": run["finishedAt"],
        "attempt": 1,
        "error": "HTTP 404 Not Found",
        "reason": "not retryable",
        "why": f"/v1/runs/{run['runId']}/why",
    }
    assert call.idempotency_key == call.json["deliveryId"]
    assert call.headers["content-type"] == "application/json"
    signature = call.headers["onthedot-signature"]
    assert is_genuine(SECRET, signature, call.body)
    assert not is_genuine("another-secret-than-that", signature, call.body)
    assert not is_genuine(SECRET, signature, call.body.replace(b"404", b"405"))
    late = call.at_ns / 1e9 + 301
    assert not is_genuine(SECRET, signature, call.body, now=late)
    assert telling.rest.get(call.json["why"]).json["runId"] == run["runId"]


def test_one_notice_comes_after_the_last_attempt_and_none_after_a_success(telling):
    pager = {"url": telling.receiver.url + "/ok?pager=2"}
    failing = telling.job("/status/503", retries=2, backoff=QUICK, onFailure=pager)
    good = telling.job("/ok", onFailure=pager)
    telling.over(telling.trigger(good))
    run = telling.over(telling.trigger(failing))

    [call] = told(telling, "/ok?pager=2", run["runId"])

    assert (call.json["attempt"], call.json["reason"]) == (3, "out of attempts")
    assert len(telling.receiver.calls("/ok?pager=2")) == 1


def test_a_notice_that_nobody_takes_is_told_by_why_and_the_metrics_and_sent_again(telling):
    pager = {"url": telling.receiver.url + "/status/500?pager=3"}
    job = telling.job("/status/404", onFailure=pager)
    run = telling.over(telling.trigger(job))

    first, second = told(telling, "/status/500?pager=3", run["runId"], count=2)[:2]

    assert first.body == second.body
    assert first.idempotency_key == second.idempotency_key
    why = telling.rest.get(f"/v1/runs/{run['runId']}/why").json
    [finding] = [each for each in why["findings"] if each["check"] == "notice"]
    assert "HTTP 500" in finding["found"]
    assert pager["url"] in finding["found"]
    metrics = telling.rest.get("/metrics").body.decode()
    assert re.search(r'^onthedot_notices_total{outcome="put_off"} [1-9]', metrics, re.MULTILINE)
    assert "notice.put_off" in telling.server.log_text()


def test_a_server_killed_between_the_failure_and_its_telling_tells_it_when_it_is_back(
    tmp_path, receiver
):
    port = free_port()
    with Server(tmp_path) as server:
        stage = Stage(server, receiver)
        job = stage.job("/status/404", onFailure={"url": f"http://127.0.0.1:{port}/ok"})
        run = stage.over(stage.trigger(job))
        eventually(lambda: "notice.put_off" in server.log_text(), "a try in vain", within_s=10)

        server.kill9()
        with Receiver(port) as pager:
            server.start()
            [call] = pager.wait_for(1, within_s=20)

    assert call.json["runId"] == run["runId"]
