"""HTTP callbacks: what the receiver gets, and what becomes of every answer it may give."""

from __future__ import annotations

import socket
from itertools import pairwise

import pytest

from tests.integration.test_server_kit import QUICK, SECOND_US
from tests.support.rest import eventually, instant_us


def test_a_callback_is_a_post_of_the_payload_with_the_headers_of_its_run(stage):
    job = stage.job(payload={"müsli": "Äpfel", "n": 1.0})
    run_id = stage.trigger(job)
    run = stage.over(run_id)

    [call] = stage.calls(job)

    assert (call.method, call.path) == ("POST", "/ok")
    assert call.json == {"müsli": "Äpfel", "n": 1.0}
    assert call.headers["content-type"] == "application/json"
    assert call.headers["user-agent"].startswith("onthedot/")
    assert call.headers["idempotency-key"] == run_id
    assert call.headers["onthedot-run"] == run_id
    assert call.headers["onthedot-job"] == job["jobId"]
    assert call.headers["onthedot-attempt"] == "1"
    assert call.headers["onthedot-scheduled-for"] == run["scheduledFor"]


def test_every_attempt_of_a_run_carries_the_same_idempotency_key(stage):
    job = stage.job("/fail-times/2", backoff=QUICK)
    run_id = stage.trigger(job)
    run = stage.over(run_id)

    calls = stage.calls(job)

    assert run["status"] == "succeeded"
    assert [call.headers["onthedot-attempt"] for call in calls] == ["1", "2", "3"]
    assert {call.idempotency_key for call in calls} == {run_id}
    assert {call.headers["onthedot-scheduled-for"] for call in calls} == {run["scheduledFor"]}


def test_a_run_lists_all_its_attempts_first_to_last(stage):
    run = stage.ran("/fail-times/2", backoff=QUICK)

    assert run["attempt"] == 3
    attempts = run["attempts"]
    assert [attempt["attempt"] for attempt in attempts] == [1, 2, 3]
    assert [attempt["status"] for attempt in attempts] == ["failed", "failed", "succeeded"]
    assert [attempt["error"] for attempt in attempts[:2]] == ["HTTP 503 Service Unavailable"] * 2
    assert [attempt["output"] for attempt in attempts] == ["not yet", "not yet", '{"ok":true}']
    for before, after in pairwise(attempts):
        waited = instant_us(after["startedAt"]) - instant_us(before["finishedAt"])
        assert waited >= 0.05 * SECOND_US, "a wait is never under half of its delay"


def test_a_run_that_waits_for_its_next_attempt_is_scheduled(stage):
    job = stage.job("/status/503", retries=1, backoff={"initial": 600})
    run_id = stage.trigger(job)

    run = stage.when(run_id, lambda run: run["status"] == "scheduled", "the wait")

    assert [attempt["status"] for attempt in run["attempts"]] == ["failed", "scheduled"]
    assert run["error"] == "HTTP 503 Service Unavailable"


def test_the_waits_grow_by_the_factor_up_to_the_longest(stage):
    run = stage.ran("/status/500", retries=3, backoff={"initial": 0.1, "factor": 10, "max": 0.4})

    waits = [
        instant_us(after["startedAt"]) - instant_us(before["finishedAt"])
        for before, after in pairwise(run["attempts"])
    ]
    for wait, half in zip(waits, (0.05, 0.2, 0.2), strict=True):
        assert wait >= half * SECOND_US


@pytest.mark.parametrize("status", [200, 201, 202, 299])
def test_every_2xx_is_a_success(stage, status):
    run = stage.ran(f"/status/{status}")

    assert (run["status"], run["error"]) == ("succeeded", None)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (408, "HTTP 408 Request Timeout"),
        (425, "HTTP 425 Too Early"),
        (429, "HTTP 429 Too Many Requests"),
        (500, "HTTP 500 Internal Server Error"),
        (503, "HTTP 503 Service Unavailable"),
        (599, "HTTP 599"),
    ],
)
def test_an_answer_that_may_change_is_retried(stage, status, words):
    run = stage.ran(f"/status/{status}", retries=1, backoff=QUICK)

    assert (run["status"], run["attempt"]) == ("failed", 2)
    assert run["error"] == words
    assert run["reason"] == "out of attempts"
    assert run["output"] == "as scripted"


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "HTTP 400 Bad Request"),
        (401, "HTTP 401 Unauthorized"),
        (404, "HTTP 404 Not Found"),
        (410, "HTTP 410 Gone"),
        (418, "HTTP 418 I'm a Teapot"),
    ],
)
def test_an_answer_that_will_stay_as_it_is_fails_at_once(stage, status, words):
    run = stage.ran(f"/status/{status}", retries=5, backoff=QUICK)

    assert (run["status"], run["attempt"]) == ("failed", 1)
    assert run["error"] == words
    assert run["reason"] == "not retryable"


def test_a_redirect_is_not_followed(stage):
    run = stage.ran("/redirect")

    assert run["status"] == "failed"
    assert run["error"].startswith("HTTP 302 Found")
    assert stage.receiver.calls("/landed") == []


def test_a_job_without_retries_has_one_attempt(stage):
    run = stage.ran("/status/500", retries=0)

    assert (run["status"], run["attempt"], run["reason"]) == ("failed", 1, "out of attempts")


def test_a_call_that_takes_too_long_is_given_up_and_retried(stage):
    job = stage.job("/hang", timeout=1, retries=1, backoff=QUICK)

    run = stage.over(stage.trigger(job))

    assert [attempt["error"] for attempt in run["attempts"]] == ["timed out after 1 s"] * 2
    assert run["status"] == "failed"
    calls = stage.calls(job)
    eventually(lambda: all(call.abandoned_ns for call in calls), "the end of both calls")
    for attempt in run["attempts"]:
        took = instant_us(attempt["finishedAt"]) - instant_us(attempt["startedAt"])
        assert 0.99 * SECOND_US <= took < 2 * SECOND_US


@pytest.mark.parametrize(
    ("timeout", "words"), [(0.25, "timed out after 250 ms"), ("PT0.5S", "timed out after 500 ms")]
)
def test_a_timeout_is_told_in_words_with_its_number(stage, timeout, words):
    assert stage.ran("/hang", timeout=timeout, retries=0)["error"] == words


def test_the_first_64_kb_of_an_answer_are_kept(stage):
    whole = stage.ran(f"/big/{64 * 1024}")["output"]
    cut = stage.ran("/big/200000")["output"]

    assert whole == "x" * 64 * 1024
    assert cut.startswith("x" * 65_000)
    assert len(cut) < len(whole) + 100


def test_a_refused_connection_is_told_and_retried(stage):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    job = stage.job(handlerUrl=f"http://127.0.0.1:{port}/", retries=1, backoff=QUICK)

    run = stage.over(stage.trigger(job))

    assert (run["status"], run["attempt"]) == ("failed", 2)
    assert run["error"].startswith(f"cannot connect to 127.0.0.1:{port}: ")
    assert run["output"] is None


def test_a_name_that_nobody_knows_is_told_and_retried(stage):
    job = stage.job(handlerUrl="http://nowhere.invalid/", retries=1, backoff=QUICK)

    run = stage.over(stage.trigger(job))

    assert (run["status"], run["attempt"]) == ("failed", 2)
    assert run["error"].startswith("cannot connect to nowhere.invalid:80: ")


def test_a_connection_that_is_dropped_is_told_and_retried(stage):
    run = stage.ran("/drop", retries=1, backoff=QUICK)

    assert (run["status"], run["attempt"]) == ("failed", 2)
    assert run["error"] == "the server closed the connection without an answer"


def test_a_mended_url_heals_the_retries_of_a_run(stage):
    job = stage.job("/status/503", retries=50, backoff=QUICK, payload={"kept": True})
    run_id = stage.trigger(job, payload={"mine": True})
    stage.called(job, 2)

    stage.patched(job, handlerUrl=f"{stage.receiver.url}/echo", payload={"kept": False})

    run = stage.over(run_id)
    assert (run["status"], run["output"]) == ("succeeded", '{"mine":true}')
    assert run["attempt"] >= 3
