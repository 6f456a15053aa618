"""A page whose name is made to point at this machine (DNS rebinding) reaches nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.hostile.raw import Answer, raw, request
from tests.support.server import Server

KEY = "a-key-of-more-than-twenty-characters"
JOB = json.dumps({"name": "rebound", "handlerUrl": "http://127.0.0.1:9/"}).encode()


@pytest.fixture(scope="module")
def keyless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("keyless")) as server:
        yield server


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    names = {"ONTHEDOT_ALLOWED_HOSTS": "Jobs.Example.com,10.0.0.7"}
    with Server(tmp_path_factory.mktemp("named"), environment=names) as server:
        yield server


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    key = {"ONTHEDOT_API_KEY": KEY}
    with Server(tmp_path_factory.mktemp("keyed"), environment=key) as server:
        yield server


def asked(server: Server, sent: bytes) -> Answer:
    with raw(server.port, sent) as client:
        return client.answer()


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8467", "localhost.evil.example", "127.0.0.1.evil.example"),
        *("192.168.0.1", "0.0.0.0", "[::]", "127.1", "evil.example@localhost", "localhost@x"),
        *("localhost/x", "localhost, evil.example", "[::1", "::1", "localhost:8467:1", "", "xn--"),
    ],
)
def test_a_foreign_name_can_neither_read_nor_write(keyless, host):
    origin = f"Origin: http://{host}"

    reads = [
        asked(keyless, request("GET", path, host=host)) for path in ("/v1/jobs", "/", "/health")
    ]
    write = asked(keyless, request("POST", "/v1/jobs", origin, host=host, body=JOB))

    assert {answer.status for answer in (*reads, write)} == {403}
    problem = json.loads(write.body)
    assert "this server is not called" in problem["detail"]
    assert "ONTHEDOT_ALLOWED_HOSTS" in problem["hint"]


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "LOCALHOST:1", "localhost.", "127.0.0.1", "127.0.0.1:9999", "127.9.8.7"),
        *("[::1]", "[::1]:8467", "app.localhost:80", "localhost:"),
    ],
)
def test_every_name_of_loopback_is_answered_on_any_port(keyless, host):
    assert asked(keyless, request("GET", "/v1/jobs", host=host)).status == 200


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /v1/jobs HTTP/1.1\r\n\r\n", 400),
        (b"GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", 400),
        (b"GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400),
        (b"GET /v1/jobs HTTP/1.0\r\n\r\n", 200),
        (b"GET /v1/jobs HTTP/1.0\r\nHost: evil.example\r\n\r\n", 403),
        (b"GET http://evil.example/v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n", 403),
        (b"GET http://localhost:1/v1/jobs?limit=1 HTTP/1.1\r\nHost: evil.example\r\n\r\n", 200),
        (b"GET http://localhost HTTP/1.1\r\nHost: localhost\r\n\r\n", 200),
        (b"GET http://me@localhost/v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n", 403),
        (b"GET ftp://localhost/v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET //evil.example/v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"CONNECT evil.example:80 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"OPTIONS * HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403),
    ],
)
def test_a_request_has_one_host_and_its_target_outweighs_it(keyless, sent, status):
    assert asked(keyless, sent).status == status


def test_names_that_were_configured_are_answered_and_no_others(named):
    hosts = ["jobs.example.com", "JOBS.example.com:443", "10.0.0.7:80", "localhost", "example.com"]

    found = [asked(named, request("GET", "/v1/jobs", host=host)).status for host in hosts]

    assert found == [200, 200, 200, 200, 403]


def test_with_a_key_any_name_is_answered_unless_some_are_configured(keyed, tmp_path):
    header = f"X-API-Key: {KEY}"
    anywhere = asked(keyed, request("GET", "/v1/jobs", header, host="jobs.example.com"))
    both = {"ONTHEDOT_API_KEY": KEY, "ONTHEDOT_ALLOWED_HOSTS": "jobs.example.com"}

    with Server(tmp_path, environment=both) as server:
        right = asked(server, request("GET", "/v1/jobs", header, host="jobs.example.com"))
        wrong = asked(server, request("GET", "/v1/jobs", header, host="evil.example"))
        probe = asked(server, request("GET", "/health", host="10.1.2.3:8467"))

    assert (anywhere.status, right.status, wrong.status, probe.status) == (200, 200, 403, 200)
