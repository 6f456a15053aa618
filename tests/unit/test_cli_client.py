"""The command line's client, against a small HTTP server that answers what a test tells it to."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from onthedot.cli.client import ApiClient, find_job
from onthedot.errors import Conflict, Invalid, NotFound, OnthedotError

Reply = tuple[int, Any]


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class StandIn:
    """Answers by (method and path); a function sees the request. Bytes are sent as they are."""

    answers: dict[str, Reply | Callable[[Request], Reply]] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    url: str = ""

    def __enter__(self) -> StandIn:
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                status, body = stand_in.reply(self.request_read())
                content = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815 - names of the stdlib

            def request_read(self) -> Request:
                parts = urlsplit(self.path)
                text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                query = {name: values[0] for name, values in parse_qs(parts.query).items()}
                headers = {name.lower(): value for name, value in self.headers.items()}
                body = json.loads(text) if text else None
                return Request(self.command, parts.path, query, headers, body)

            def log_message(self, format: str, *args: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def reply(self, request: Request) -> Reply:
        self.requests.append(request)
        answer = self.answers.get(f"{request.method} {request.path}")
        if answer is None:
            return 404, {"title": "Not found", "status": 404, "detail": f"no {request.path}"}
        return answer(request) if callable(answer) else answer


@pytest.fixture
def api() -> Iterator[StandIn]:
    with StandIn() as stand_in:
        yield stand_in


def refused(api: StandIn, status: int, body: Any) -> OnthedotError:
    api.answers["GET /v1/jobs"] = status, body
    with pytest.raises(OnthedotError) as caught:
        ApiClient(api.url).get("/jobs")
    return caught.value


def jobs_page(*jobs: dict[str, Any], cursor: str | None = None) -> Reply:
    return 200, {"jobs": list(jobs), "nextCursor": cursor}


def test_the_key_and_the_body_are_sent(api):
    api.answers["POST /v1/jobs"] = 201, {"jobId": "job-1"}

    answer = ApiClient(api.url, "a-key").post("/jobs", {"name": "ping"})

    assert answer == {"jobId": "job-1"}
    assert api.requests[0].headers["authorization"] == "Bearer a-key"
    assert api.requests[0].headers["content-type"] == "application/json"
    assert api.requests[0].body == {"name": "ping"}


def test_a_server_behind_a_path_is_called_below_it(api):
    api.answers["GET /tools/onthedot/v1/jobs"] = 200, {"jobs": []}

    assert ApiClient(f"{api.url}/tools/onthedot").get("/jobs") == {"jobs": []}


def test_the_key_is_not_shown():
    assert "a-key" not in repr(ApiClient("http://127.0.0.1", "a-key"))


@pytest.mark.parametrize(
    ("status", "kind"), [(404, NotFound), (409, Conflict), (422, Invalid), (503, OnthedotError)]
)
def test_a_problem_document_becomes_one_error(api, status, kind):
    error = refused(
        api, status, {"title": "T", "detail": "what happened", "hint": "do this", "field": "name"}
    )

    assert type(error) is kind
    assert (error.message, error.hint, error.field) == ("what happened", "do this", "name")


def test_a_problem_without_detail_is_told_by_its_title(api):
    assert refused(api, 500, {"title": "Internal Server Error"}).message == "Internal Server Error"


@pytest.mark.parametrize("status", [401, 403])
def test_a_missing_key_is_explained(api, status):
    error = refused(api, status, {"detail": "an API key is needed"})

    assert "ONTHEDOT_API_KEY" in error.hint


@pytest.mark.parametrize(
    ("status", "body"),
    [(200, b"<html>"), (200, b"\xff"), (502, b"<html>Bad Gateway"), (302, b""), (500, b"[1]")],
)
def test_an_answer_that_is_not_ours_raises_a_doubt_about_the_server(api, status, body):
    error = refused(api, status, body)

    assert api.url in error.message
    assert str(status) in error.message
    assert "Is that an onthedot server?" in error.hint


def test_a_list_without_its_key_raises_a_doubt_about_the_server(api):
    api.answers["GET /v1/jobs"] = 200, {"items": []}

    with pytest.raises(OnthedotError, match="has no 'jobs'"):
        list(ApiClient(api.url).items("/jobs", "jobs"))


def test_no_server_is_told_with_the_next_step():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    with pytest.raises(OnthedotError, match=f"no server answers at http://127.0.0.1:{port}") as c:
        ApiClient(f"http://127.0.0.1:{port}").get("/jobs")

    assert "onthedot serve" in c.value.hint


def test_a_server_that_says_nothing_is_not_waited_for_long():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = ApiClient(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout_s=0.05)

        with pytest.raises(OnthedotError, match=r"no server answers at .* within 0\.05 s"):
            client.get("/jobs")


@pytest.mark.parametrize("words", [b"", b"SSH-2.0-OpenSSH_9.6\r\n"])
def test_what_is_not_a_web_server_is_told(words):
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(words)

        thread = threading.Thread(target=answer)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(OnthedotError, match=url):
            ApiClient(url).get("/jobs")
        thread.join()


def test_a_list_is_read_page_after_page(api):
    pages = {"": jobs_page({"n": 1}, {"n": 2}, cursor="b"), "b": jobs_page({"n": 3})}
    api.answers["GET /v1/jobs"] = lambda request: pages[request.query.get("cursor", "")]

    assert list(ApiClient(api.url).items("/jobs", "jobs")) == [{"n": 1}, {"n": 2}, {"n": 3}]


def test_a_list_ends_at_its_limit(api):
    api.answers["GET /v1/jobs"] = jobs_page({"n": 1}, {"n": 2}, cursor="b")

    assert list(ApiClient(api.url).items("/jobs", "jobs", limit=3)) == [
        {"n": 1},
        {"n": 2},
        {"n": 1},
    ]
    assert [request.query["limit"] for request in api.requests] == ["3", "1"]


def test_an_id_is_taken_without_asking():
    assert find_job(ApiClient("http://127.0.0.1:9"), "job-1f") == "job-1f"


def test_a_key_comes_before_a_name(api):
    api.answers["GET /v1/jobs"] = jobs_page(
        {"jobId": "job-1", "name": "ping", "key": None},
        {"jobId": "job-2", "name": "other", "key": "ping"},
    )

    assert find_job(ApiClient(api.url), "ping") == "job-2"


def test_a_name_that_one_job_has_is_enough(api):
    api.answers["GET /v1/jobs"] = jobs_page(
        {"jobId": "job-1", "name": "ping"}, {"jobId": "job-2", "name": "pong"}
    )

    assert find_job(ApiClient(api.url), "pong") == "job-2"


def test_a_name_that_several_jobs_have_is_answered_with_the_candidates(api):
    api.answers["GET /v1/jobs"] = jobs_page(
        *({"jobId": f"job-{n:x}", "name": "ping", "handlerUrl": f"http://x/{n}"} for n in range(15))
    )

    with pytest.raises(Conflict, match="several jobs are named 'ping'") as caught:
        find_job(ApiClient(api.url), "ping")

    assert "job-1  http://x/1" in caught.value.message
    assert caught.value.message.endswith("…")
    assert "job-e" not in caught.value.message


def test_an_unknown_name_is_told_with_the_next_step(api):
    api.answers["GET /v1/jobs"] = jobs_page()

    with pytest.raises(NotFound, match="no job with the id, key or name 'ping'") as caught:
        find_job(ApiClient(api.url), "ping")

    assert "onthedot job list" in caught.value.hint
