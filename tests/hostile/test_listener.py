"""One connection, without a key, that sends what no client should: it is cut short, and nothing
else is late.
"""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections.abc import Iterator

import pytest

from tests.hostile.form import LONG
from tests.hostile.probes import cpu_s, rss_mb
from tests.hostile.raw import Raw, raw, request
from tests.integration.test_server_kit import Json, Stage, check_problem, lateness_us
from tests.support.receiver import Receiver
from tests.support.rest import eventually
from tests.support.server import Server

MB = 1024 * 1024
HEADER_BYTES = 200 * MB
EVENT = re.compile(r"[-0-9]{10} [:,0-9]{12} (INFO|WARNING) [a-z_]+\.[a-z_]+( |$)")
LATE_US = 100_000
BUSY_FACTOR = 5
"""How much later than in the calm before a run may be, on a machine that others use as well."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with Receiver() as receiver, Server(tmp_path_factory.mktemp("listener")) as server:
        yield Stage(server, receiver)


def check_refused(client: Raw, status: int, said: str) -> None:
    answer = client.answer()
    assert answer.status == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["connection"] == "close"
    problem = json.loads(answer.body)
    assert said in problem["detail"]
    assert problem["hint"]


def worst_us(stage: Stage, job: Json, runs: int) -> int:
    before = len(stage.calls(job))
    stage.called(job, before + runs)
    return max(lateness_us(run) for run in stage.runs(job)[:runs] if run["startedAt"])


def test_a_header_of_200_megabytes_makes_no_run_late(stage):
    job = stage.job(every=1)
    calm = worst_us(stage, job, 2)
    before, used = rss_mb(stage.server.process.pid), cpu_s(stage.server.process.pid)

    with raw(stage.server.port, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ") as client:
        taken = client.flood(b"a" * MB, HEADER_BYTES)
    after = worst_us(stage, job, 3)
    stage.server.rest.delete(f"/v1/jobs/{job['jobId']}")

    assert taken < 20 * MB, "the server read on after it had refused"
    assert after < max(LATE_US, BUSY_FACTOR * calm)
    assert rss_mb(stage.server.process.pid) - before < 30
    assert cpu_s(stage.server.process.pid) - used < 5


def test_a_hundred_thousand_small_headers_take_no_memory(stage):
    many = b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"a: b\r\n" * 100_000 + b"\r\n"
    with raw(stage.server.port) as client:
        client.flood(many, len(many))
    before = rss_mb(stage.server.process.pid)

    for _ in range(300 if LONG else 60):
        with raw(stage.server.port) as client:
            client.flood(many, len(many))

    assert rss_mb(stage.server.process.pid) - before < 30
    assert stage.server.healthy()


@pytest.mark.parametrize(
    ("sent", "status", "said"),
    [
        (b"GET /" + b"a" * 9_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414, "longer than 8 KB"),
        (b"GET /" + b"a" * 300_000, 414, "longer than 8 KB"),
        (request("GET", "/", "X: " + "a" * 40_000), 431, "longer than 32 KB"),
        (request("GET", "/", *["a: b"] * 101), 431, "more than 100 headers"),
        (b"\r\n" * 20_000, 431, "headers"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 100, 400, "not a valid HTTP"),
        (b"GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n", 400, "not a valid HTTP"),
        (b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n", 400, "not a valid"),
        (
            request("POST", "/v1/jobs", "Transfer-Encoding: chunked") + b"zz\r\n",
            400,
            "not a valid",
        ),
        (
            request("POST", "/v1/jobs", "Transfer-Encoding: chunked") + b"1\r\nx\r\n" * 300_000,
            413,
            "larger than 256 KB",
        ),
    ],
)
def test_what_is_too_much_is_refused_with_a_reason_and_the_connection_closed(
    stage, sent, status, said
):
    with raw(stage.server.port) as client:
        client.flood(sent, len(sent))
        check_refused(client, status, said)

        assert client.ends()


def test_as_many_headers_and_as_long_a_path_as_are_allowed_are_answered(stage):
    most = request("GET", "/health/live?" + "a" * 8_000, *["a: " + "b" * 200] * 99)

    with raw(stage.server.port, most) as client:
        assert client.answer().status == 200


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_a_request_may_come_in_pieces_of_any_size(stage, size):
    job = json.dumps({"name": "in pieces", "handlerUrl": stage.receiver.url}).encode()
    whole = request("POST", "/v1/jobs", body=job) + request("GET", "/health/live")

    with raw(stage.server.port) as client:
        for at in range(0, len(whole), size):
            client.send(whole[at : at + size])
        made, alive = client.answer(), client.answer()

    assert (made.status, alive.status) == (201, 200)


def test_many_requests_sent_at_once_are_answered_in_order(stage):
    job = json.dumps({"name": "pipelined", "handlerUrl": stage.receiver.url}).encode()
    pair = request("GET", "/health/live") + request("POST", "/v1/jobs", body=job)

    with raw(stage.server.port, pair * 100) as client:
        statuses = [client.answer().status for _ in range(200)]

    assert statuses == [200, 201] * 100


@pytest.mark.parametrize("seed", range(40 if LONG else 8))
def test_any_mixture_of_requests_in_any_pieces_is_answered_in_order(stage, seed):
    chance = random.Random(seed)
    job = json.dumps({"name": "mixed", "handlerUrl": stage.receiver.url}).encode()
    large = 300 * 1024
    kinds = [
        (request("GET", "/health/live"), 200),
        (request("POST", "/v1/jobs", body=job), 201),
        (request("POST", "/v1/jobs", body=b"{}"), 422),
        (request("GET", "/nothing", "X: " + "y" * 5_000), 404),
        (request("POST", "/v1/jobs", f"Content-Length: {large}") + b"z" * large, 413),
        (request("POST", "/nothing", body=b"n" * 70_000), 404),
    ]
    chosen = [chance.choice(kinds) for _ in range(30)]
    whole = b"".join(sent for sent, _ in chosen)

    with raw(stage.server.port) as client:
        answers: list[int] = []
        reader = threading.Thread(
            target=lambda: answers.extend(client.answer().status for _ in chosen)
        )
        reader.start()
        at = 0
        while at < len(whole):
            size = chance.choice([1, 3, 50, 4_000, 70_000, 400_000])
            client.send(whole[at : at + size])
            at += size
        reader.join(60)

    assert answers == [status for _, status in chosen]


def test_trailers_of_a_body_in_chunks_are_no_headers(stage):
    body = json.dumps({"name": "trailing", "handlerUrl": stage.receiver.url}).encode()
    head = request("POST", "/v1/jobs", "Transfer-Encoding: chunked")
    trailers = b"Host: elsewhere.example\r\nIdempotency-Key: t\r\n"
    chunks = b"%x\r\n%b\r\n0\r\n%b\r\n" % (len(body), body, trailers)

    made = []
    for _ in range(2):
        with raw(stage.server.port, head + chunks) as client:
            answer = client.answer()
            assert answer.status == 201
            made.append(json.loads(answer.body)["jobId"])

    assert made[0] != made[1]


def test_a_body_in_chunks_is_read_and_what_follows_it_at_once_is_left_unanswered(stage):
    body = json.dumps({"name": "chunked", "handlerUrl": stage.receiver.url}).encode()
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
    head = request("POST", "/v1/jobs", "Transfer-Encoding: chunked")

    with raw(stage.server.port, head + chunks) as client:
        alone = client.answer()
        client.send(request("GET", "/health/live"))
        later = client.answer()
    with raw(stage.server.port, head + chunks + request("GET", "/health/live")) as client:
        first = client.answer()
        closed = client.ends()

    assert (alone.status, later.status) == (201, 200)
    assert (first.status, first.headers["connection"], closed) == (201, "close", True)


def test_a_body_that_is_refused_unread_does_not_keep_the_refusal_from_being_read(stage):
    head = request("POST", "/v1/jobs", f"Content-Length: {600 * 1024}")

    with raw(stage.server.port, head + b"x" * 600 * 1024) as client:
        refused = client.answer()
        client.send(request("GET", "/health/live"))
        next_one = client.answer()

    assert (refused.status, next_one.status) == (413, 200)


def test_requests_after_a_body_without_end_are_not_waited_for(stage):
    with raw(
        stage.server.port, request("POST", "/v1/jobs", "Content-Length: 99999999999")
    ) as client:
        assert client.answer().status == 413
        taken = client.flood(b"x" * MB, 200 * MB)

    assert taken < 20 * MB


def test_what_clients_are_refused_is_counted_and_logged_in_one_line(stage):
    def counted() -> float:
        lines = stage.server.rest.get("/metrics").body.decode().splitlines()
        name = 'onthedot_api_refused_total{reason="header_count"} '
        return next(float(line.removeprefix(name)) for line in lines if line.startswith(name))

    before = counted()
    for _ in range(50):
        with raw(stage.server.port, request("GET", "/", *["a: b"] * 101)) as client:
            client.answer()

    assert counted() == before + 50
    eventually(lambda: "api.refused" in stage.server.log_text(), "the event", within_s=15)
    assert stage.server.log_text().count("api.refused") < 10


def test_a_head_that_is_not_finished_in_time_is_refused_and_a_silent_client_is_dropped(stage):
    began = time.monotonic()
    with raw(stage.server.port, b"GET / HTTP/1.1\r\nHo") as slow, raw(stage.server.port) as silent:
        body = request("POST", "/v1/jobs", "Content-Length: 100") + b"{"
        with raw(stage.server.port, body) as half:
            check_refused(slow, 408, "in time")
            assert silent.ends()
            check_refused(half, 408, "in time")

    assert 9 < time.monotonic() - began < 25


def test_a_problem_document_of_the_listener_is_like_any_other(stage):
    refused = stage.server.rest.get("/" + "a" * 9_000)

    check_problem(refused, 414)


def test_garbage_by_the_thousand_leaves_no_line_of_another_format_in_the_log(stage):
    before = len(stage.server.log_text().splitlines())
    for number in range(1_000 if LONG else 200):
        with raw(stage.server.port, b"\xff%d\r\n\r\n" % number) as client:
            client.answer()
    eventually(lambda: "not_http=" in stage.server.log_text(), "the event", within_s=25)

    lines = stage.server.log_text().splitlines()[before:]
    assert len(lines) < 20
    assert all(EVENT.match(line) for line in lines), lines
