"""The demo's parts: its receiver, its jobs and its run log. The whole is shown by a real server."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from onthedot.cli.client import ApiClient
from onthedot.cli.demo_log import HEADER, RunLog
from onthedot.cli.demo_receiver import Receiver
from onthedot.cli.demo_show import JOBS, create_jobs, introduction
from tests.unit.test_cli_client import StandIn
from tests.unit.test_cli_job import onthedot

DUE = "2027-01-31T09:30:00Z"


@pytest.fixture
def api() -> Iterator[StandIn]:
    with StandIn() as stand_in:
        yield stand_in


def call(receiver: Receiver, path: str, attempt: int) -> int:
    connection = http.client.HTTPConnection(urlsplit(receiver.url).netloc, timeout=5)
    connection.request("POST", path, body="{}", headers={"Onthedot-Attempt": str(attempt)})
    status = connection.getresponse().status
    connection.close()
    return status


def test_the_receiver_behaves_as_each_job_needs_it():
    with Receiver() as receiver:
        assert call(receiver, "/heartbeat", 1) == 200
        assert [call(receiver, "/flaky", attempt) for attempt in (1, 2, 3)] == [503, 503, 200]
        assert call(receiver, "/broken", 1) == 404


def test_a_slow_callback_does_not_hold_up_the_end():
    answers: list[int] = []
    with Receiver() as receiver:
        address = urlsplit(receiver.url)
        slow = http.client.HTTPConnection(address.netloc, timeout=30)
        slow.request("POST", "/slow", body="{}")
        reader = threading.Thread(target=lambda: answers.append(slow.getresponse().status))
        reader.start()
        assert call(receiver, "/heartbeat", 1) == 200

    reader.join()
    slow.close()
    assert answers == [200]


def test_a_callback_without_a_length_is_refused():
    with Receiver() as receiver:
        address = urlsplit(receiver.url)
        connection = http.client.HTTPConnection(address.netloc, timeout=5)
        connection.request("POST", "/heartbeat", headers={"Transfer-Encoding": "chunked"})
        assert connection.getresponse().status == 411
        connection.close()


def test_the_demo_makes_its_jobs_over_rest(api):
    api.answers["POST /v1/jobs"] = lambda request: (201, {"jobId": f"job-{request.body['key']}"})
    for job in JOBS:
        api.answers[f"POST /v1/jobs/job-{job['name']}/trigger"] = 202, {"runId": "r"}

    create_jobs(ApiClient(api.url), "http://127.0.0.1:9000")

    made = [request.body for request in api.requests if request.path == "/v1/jobs"]
    assert [job["name"] for job in made] == [job["name"] for job in JOBS]
    assert made[0] == {
        "name": "heartbeat",
        "every": 3,
        "key": "heartbeat",
        "handlerUrl": "http://127.0.0.1:9000/heartbeat",
    }


def test_the_introduction_has_the_address_and_three_commands():
    text = "\n".join(introduction("http://127.0.0.1:9000", "onthedot", needs_server=True))

    assert "http://127.0.0.1:9000/" in text
    assert text.count(" --server http://127.0.0.1:9000\n") == 3


def test_the_default_address_needs_no_flag():
    text = "\n".join(introduction("http://127.0.0.1:8467", "onthedot", needs_server=False))

    assert "--server" not in text
    assert text.count("\n  onthedot ") == 3


def attempt(number: int, status: str, second: int, error: str | None = None) -> dict[str, Any]:
    return {
        "attempt": number,
        "status": status,
        "startedAt": f"2027-01-31T09:30:0{second}.004Z",
        "finishedAt": f"2027-01-31T09:30:0{second}.010Z",
        "error": error,
    }


def run_of(
    api: StandIn, run_id: str, status: str, *attempts: dict[str, Any], job: str = "1"
) -> None:
    """The stand-in has one job per run, and the run looks like this from now on."""
    run = {"runId": run_id, "status": status, "scheduledFor": DUE, "attempts": list(attempts)}
    api.answers["GET /v1/jobs"] = (
        200,
        {"jobs": [{"jobId": f"job-{job}", "name": "flaky"}], "nextCursor": None},
    )
    api.answers[f"GET /v1/jobs/job-{job}/runs"] = 200, {"runs": [run], "nextCursor": None}
    api.answers[f"GET /v1/runs/{run_id}"] = 200, run


def test_every_finished_attempt_is_one_line_told_once(api):
    log = RunLog(ApiClient(api.url))
    first = attempt(1, "failed", 0, "HTTP 503 Service Unavailable")
    second = attempt(2, "succeeded", 2)

    run_of(api, "r-1", "scheduled", first)
    (line,) = log.look()
    assert line == (
        "09:30:00    flaky          09:30:00.000   #1           4 ms  "
        "\x1b[31mfailed: HTTP 503 Service Unavailable\x1b[0m"
    )
    assert log.look() == []

    run_of(api, "r-1", "succeeded", first, second)
    assert log.look() == [
        "09:30:02    flaky          09:30:00.000   #2          retry  \x1b[32msucceeded\x1b[0m"
    ]
    assert log.look() == []


def test_the_header_stands_above_its_columns(api):
    run_of(api, "r-1", "succeeded", attempt(1, "succeeded", 0))

    (line,) = RunLog(ApiClient(api.url)).look()

    assert line.index("flaky") == HEADER.index("job")
    assert line.index("09:30:00.000") == HEADER.index("scheduled for")
    assert line.index("#1") == HEADER.index("attempt")
    assert line.index("4 ms") + 4 == HEADER.index("lateness") + len("lateness")
    assert line.index("\x1b") == HEADER.index("result")


def test_a_run_that_is_over_is_not_asked_for_again(api):
    log = RunLog(ApiClient(api.url))
    run_of(api, "r-1", "succeeded", attempt(1, "succeeded", 0))
    log.look()
    api.requests.clear()

    log.look()

    assert "/v1/runs/r-1" not in [request.path for request in api.requests]


def test_what_ended_without_an_attempt_is_told_too(api):
    run_of(api, "r-1", "cancelled")
    log = RunLog(ApiClient(api.url))

    (line,) = log.look()

    assert "cancelled" in line
    assert log.look() == []


def test_a_job_deleted_by_a_visitor_does_not_end_the_log(api):
    run_of(api, "r-1", "succeeded", attempt(1, "succeeded", 0))
    del api.answers["GET /v1/jobs/job-1/runs"]

    assert RunLog(ApiClient(api.url)).look() == []


def test_a_taken_port_is_told_with_another_way():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = onthedot("demo", "--port", str(port))

    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: port {port} on 127.0.0.1 cannot be used")
    assert "--port 0" in result.stderr
