"""Bad input over HTTP: a problem document that names the field, and nothing is written."""

from __future__ import annotations

import random
import socket
import sqlite3
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from tests.integration.test_server_kit import check_problem
from tests.support.rest import NoAnswer

SEED = 20_270_131
URL = "http://127.0.0.1:9/hook"
SOUND = {"name": "report", "handlerUrl": URL}
CRON = "0 9 * * *"

WRONG = [
    ({"cronExpr": "banana"}, "cronExpr"),
    ({"cronExpr": "75 * * * *"}, "cronExpr"),
    ({"cronExpr": "* * * * * * * *"}, "cronExpr"),
    ({"cronExpr": ""}, "cronExpr"),
    ({"cronExpr": 5}, "cronExpr"),
    ({"cronExpr": "0 0 30 2 *"}, "cronExpr"),
    ({"schedule": "75 * * * *"}, "schedule"),
    ({"schedule": "0 0 31 4 *"}, "schedule"),
    ({"schedule": "every blue moon"}, "schedule"),
    ({"cronExpr": CRON, "timezone": "Mars/Olympus"}, "timezone"),
    ({"cronExpr": CRON, "timezone": "../etc/passwd"}, "timezone"),
    ({"timezone": 7}, "timezone"),
    ({"handlerUrl": "ftp://example.com/"}, "handlerUrl"),
    ({"handlerUrl": "/hook"}, "handlerUrl"),
    ({"handlerUrl": "http://"}, "handlerUrl"),
    ({"handlerUrl": "http://user:secret@example.com/"}, "handlerUrl"),
    ({"handlerUrl": "http://example.com/a b"}, "handlerUrl"),
    ({"handlerUrl": None}, "handlerUrl"),
    ({"timeout": -1}, "timeout"),
    ({"timeout": 0}, "timeout"),
    ({"timeout": 86_401}, "timeout"),
    ({"timeout": "1 minute"}, "timeout"),
    ({"timeout": True}, "timeout"),
    ({"retries": -1}, "retries"),
    ({"retries": 101}, "retries"),
    ({"retries": 1.5}, "retries"),
    ({"retries": "3"}, "retries"),
    ({"every": -5}, "every"),
    ({"every": 0.5}, "every"),
    ({"every": "P1M"}, "every"),
    ({"delay": -1}, "delay"),
    ({"priority": 10}, "priority"),
    ({"priority": -1}, "priority"),
    ({"catchUpWindow": -1}, "catchUpWindow"),
    ({"catchUp": "sometimes"}, "catchUp"),
    ({"backoff": {"initial": -1}}, "backoff.initial"),
    ({"backoff": {"factor": 0}}, "backoff.factor"),
    ({"backoff": {"initial": 10, "max": 1}}, "backoff.max"),
    ({"backoff": {"speed": 1}}, "backoff.speed"),
    ({"cronExpr": CRON, "every": 60}, "every"),
    ({"every": 60, "runAt": "2030-01-01T00:00:00Z"}, "runAt"),
    ({"runAt": "2030-01-01T00:00:00Z", "delay": 5}, "delay"),
    ({"runAt": "next tuesday"}, "runAt"),
    ({"runAt": "2030-01-01T00:00:00"}, "runAt"),
    ({"runAt": "2200-01-01T00:00:00Z"}, "runAt"),
    ({"runAt": 1893456000}, "runAt"),
    ({"payload": "x" * 65_535}, "payload"),
    ({"name": ""}, "name"),
    ({"name": "   "}, "name"),
    ({"name": "a\nb"}, "name"),
    ({"name": 5}, "name"),
    ({"name": "x" * 201}, "name"),
    ({"tags": "billing"}, "tags"),
    ({"tags": [5]}, "tags"),
    ({"paused": "yes"}, "paused"),
    ({"queue": ""}, "queue"),
    ({"guarantee": "at_most_once", "retries": 1}, "retries"),
    ({"guarantee": "exactly_once"}, "guarantee"),
    ({"key": ""}, "key"),
    ({"colour": "red"}, "colour"),
    ({"cron": CRON}, "cron"),
    ({"jobId": "job-1"}, "jobId"),
]
LATER = [
    ({"overlap": "skip"}, "overlap"),
    ({"namespace": "billing"}, "namespace"),
]


def rows(stage) -> dict[str, int]:
    """How much is written, by table."""
    counts = {}
    with closing(sqlite3.connect(f"file:{stage.server.database}?mode=ro", uri=True)) as database:
        for table in ("job", "job_version", "idempotency", "waiting", "aside"):
            (counts[table],) = database.execute(f"select count(*) from {table}").fetchone()
    return counts


@pytest.mark.parametrize(("wrong", "field"), WRONG)
def test_a_wrong_job_is_refused_by_its_field_and_nothing_is_written(stage, wrong, field):
    before = rows(stage)

    check_problem(
        stage.rest.post("/v1/jobs", {**SOUND, **wrong}, {"Idempotency-Key": "k"}), 422, field
    )

    assert rows(stage) == before


@pytest.mark.parametrize(("wrong", "field"), LATER)
def test_a_value_of_a_later_version_is_refused_as_not_available_yet(stage, wrong, field):
    reply = stage.rest.post("/v1/jobs", {**SOUND, **wrong})

    check_problem(reply, 422, field)
    assert "not available yet" in reply.json["detail"]


@pytest.mark.parametrize("missing", ["name", "handlerUrl"])
def test_a_job_without_what_it_needs_is_refused(stage, missing):
    check_problem(
        stage.rest.post("/v1/jobs", {k: v for k, v in SOUND.items() if k != missing}), 422, missing
    )


@pytest.mark.parametrize(
    "edit",
    [
        {"cronExpr": "61 * * * *"},
        {"cronExpr": "0 0 30 2 *"},
        {"retries": -1},
        {"handlerUrl": "nowhere"},
        {"timezone": "Mars/Olympus"},
        {"every": 60, "delay": 5},
        {"name": None},
        {"jobId": "job-1"},
        {"colour": "red"},
        {"payload": "x" * 65_535},
    ],
)
def test_a_wrong_edit_is_refused_and_the_job_stays_as_it_was(stage, edit):
    job = stage.job(cronExpr=CRON)

    reply = stage.rest.patch(f"/v1/jobs/{job['jobId']}", edit)

    check_problem(reply, 422, list(edit)[-1])
    assert stage.get_job(job) == job


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b"null", b'"text"', b"{'name': 1}", b"\xff\xfe", b"{" + b'"a":{' * 500]
)
def test_a_body_that_is_no_json_object_is_refused(stage, body):
    before = rows(stage)
    job = stage.job()

    for path in ("/v1/jobs", f"/v1/jobs/{job['jobId']}/trigger"):
        check_problem(stage.rest.post(path, body), 400)
    check_problem(stage.rest.patch(f"/v1/jobs/{job['jobId']}", body), 400)

    assert rows(stage)["job"] == before["job"] + 1


def test_a_body_that_is_far_too_large_is_refused_unread(stage):
    check_problem(stage.rest.post("/v1/jobs", b" " * 300_000), 413)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/jobs/job-ffff"),
        ("GET", "/v1/jobs/nothing"),
        ("PATCH", "/v1/jobs/job-ffff"),
        ("DELETE", "/v1/jobs/job-ffff"),
        ("GET", "/v1/jobs/job-ffff/runs"),
        ("POST", "/v1/jobs/job-ffff/trigger"),
        ("GET", "/v1/runs/nothing"),
        ("POST", "/v1/runs/nothing/cancel"),
        ("GET", "/v1/nothing"),
        ("GET", "/v2/jobs"),
    ],
)
def test_what_is_not_there_is_a_404(stage, method, path):
    body = b"{}" if method in ("PATCH", "POST") else None

    check_problem(stage.rest.ask(method, path, body), 404)


@pytest.mark.parametrize(
    ("method", "path"), [("PUT", "/v1/jobs"), ("DELETE", "/v1/jobs"), ("POST", "/health")]
)
def test_a_method_that_a_path_does_not_have_is_a_405(stage, method, path):
    reply = stage.rest.ask(method, path)

    check_problem(reply, 405)
    assert "GET" in reply.headers["allow"]


def test_an_unknown_query_parameter_is_refused_by_name(stage):
    check_problem(stage.rest.get("/v1/jobs", status="failed"), 422, "status")


def test_a_page_of_another_site_cannot_write(stage):
    foreign = {"Origin": "https://example.com"}

    check_problem(stage.rest.post("/v1/jobs", SOUND, foreign), 403)


def garbage(chance: random.Random, job_id: str) -> tuple[str, str, bytes, dict[str, str]]:
    method = chance.choice(["GET", "POST", "PATCH", "DELETE", "PUT", "OPTIONS", "BREW"])
    places = ["/jobs", "/v1/jobs", "/v1/runs/x", "/health", "/", "/docs", f"/v1/jobs/{job_id}/runs"]
    places += [f"/v1/jobs/{job_id}/trigger", f"/v1/jobs/{job_id}-", "/static/..%2f..%2fnode.py"]
    path = chance.choice(places) + chance.choice(["", "?limit=%00", "?cursor=%ff", "/%e2%28%a1"])
    body = chance.choice(
        [
            chance.randbytes(chance.randrange(200)),
            b'{"name": ' + chance.randbytes(20) + b"}",
            b'{"payload": ' + b"[" * chance.randrange(500),
            b'{"timeout": 1e' + b"9" * chance.randrange(1, 40) + b"}",
            b"",
        ]
    )
    headers = chance.choice(
        [{}, {"Idempotency-Key": "\xe9" * 9}, {"If-Match": "W/x"}, {"Content-Type": "text/xml"}]
    )
    return method, path, body, headers


def test_the_server_stays_up_after_500_garbage_requests(stage):
    chance = random.Random(SEED)
    job = stage.job()
    statuses: list[int] = []
    for number in range(500):
        if number % 10 == 0:
            raw(stage.server.url, chance.randbytes(chance.randrange(1, 300)))
            continue
        try:
            statuses.append(stage.rest.ask(*garbage(chance, job["jobId"])).status)
        except NoAnswer:
            statuses.append(0)

    assert max(statuses) < 500, "no garbage is the server's fault"
    assert stage.server.healthy()
    assert stage.get_job(job)["version"] == 1
    assert stage.over(stage.trigger(job))["status"] == "succeeded"
    assert "api.failed" not in stage.server.log_text()


def raw(url: str, said: bytes) -> None:
    """Bytes that are no HTTP at all."""
    place = urlsplit(url)
    assert place.hostname is not None
    with socket.create_connection((place.hostname, place.port or 0), timeout=5) as connection:
        connection.sendall(said)
