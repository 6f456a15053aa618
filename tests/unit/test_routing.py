"""How a call finds its function, and how requests are read and answers sent."""

from __future__ import annotations

from typing import Any

import pytest

from onthedot.api.http import BODY_BYTES_MAX, HttpError, Message, Request, Response
from onthedot.api.operation import Operation
from onthedot.api.params import IDEMPOTENCY_KEY, LIMIT, limit_of
from onthedot.api.routing import Router, delete, get, post
from onthedot.api.services import Services
from onthedot.errors import Invalid

SERVICES: Services = object()  # type: ignore[assignment]


@get("/")
async def front() -> Response:
    return Response(b"about")


@get("/about")
async def about() -> Response:
    return Response(b"about")


@get("/jobs/{job}")
async def one(job: str, services: Services) -> Response:
    assert services is SERVICES
    return Response(job.encode())


@delete("/jobs/{job}")
async def gone(job: str) -> Response:
    return Response(status=204)


@post("/jobs/{job}/runs/{run}")
async def both(run: str, request: Request, job: str) -> Response:
    return Response(f"{job} {run} {request.method}".encode())


ROUTER = Router([front, about, one, gone, both], ("", "/v1"))


def asked(method: str, path: str, *messages: Message, **headers: str) -> Request:
    coming = iter(messages)

    async def receive() -> Message:
        return next(coming)

    raw = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    scope = {"method": method, "path": path, "raw_path": path.encode(), "headers": raw}
    return Request({**scope, "query_string": b"a=1&b=&a=%20"}, receive)


def part(size: int, *, more: bool = False) -> Message:
    return {"type": "http.request", "body": b"x" * size, "more_body": more}


async def sent(
    response: Response, *, with_body: bool = True
) -> tuple[Any, dict[bytes, bytes], Any]:
    said: list[Message] = []

    async def send(message: Message) -> None:
        said.append(message)

    await response.send(send, [(b"cache-control", b"no-store")], with_body=with_body)
    head, body = said
    return head["status"], dict(head["headers"]), body["body"]


@pytest.mark.parametrize(
    ("method", "path", "answer"),
    [
        ("GET", "/", b"about"),
        ("GET", "/v1", b"about"),
        ("GET", "/about", b"about"),
        ("GET", "/jobs/job-1", b"job-1"),
        ("HEAD", "/v1/jobs/job-1", b"job-1"),
        ("GET", "//v1///jobs/job-1/", b"job-1"),
        ("POST", "/v1/jobs/a/runs/b", b"a b POST"),
    ],
)
async def test_a_call_finds_the_function_of_its_path(method: str, path: str, answer: bytes):
    assert (await ROUTER.answer(asked(method, path), SERVICES)).body == answer


@pytest.mark.parametrize("path", ["/jobs", "/nowhere", "/jobs/a/runs", "/jobs/a/b", "/v2/jobs/a"])
async def test_a_path_that_nobody_declared_is_not_there(path: str):
    with pytest.raises(HttpError) as refused:
        await ROUTER.answer(asked("GET", path), SERVICES)

    assert refused.value.status == 404


async def test_a_wrong_method_is_told_the_right_ones():
    with pytest.raises(HttpError) as refused:
        await ROUTER.answer(asked("PUT", "/jobs/a"), SERVICES)
    answer = await ROUTER.answer(asked("OPTIONS", "/jobs/a"), SERVICES)

    assert refused.value.status == 405
    assert refused.value.headers == answer.headers == {"Allow": "DELETE, GET, OPTIONS"}
    assert answer.status == 204


def test_a_route_cannot_want_what_its_path_does_not_name():
    with pytest.raises(AssertionError):
        get("/jobs/{job}")(both.handler)


async def test_a_body_is_read_to_its_end():
    request = asked("POST", "/", part(3, more=True), part(2))

    assert await request.body() == b"xxxxx"


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (asked("POST", "/", part(1, more=True), {"type": "http.disconnect"}), 400),
        (asked("POST", "/", part(BODY_BYTES_MAX, more=True), part(1, more=True)), 413),
        (asked("POST", "/", content_length=str(BODY_BYTES_MAX + 1)), 413),
    ],
)
async def test_a_body_that_is_cut_short_or_too_long_is_refused(request_: Request, status: int):
    with pytest.raises(HttpError) as refused:
        await request_.body()

    assert refused.value.status == status


def test_a_request_shows_its_headers_and_parameters_in_order():
    request = asked("GET", "/a//b/", if_match="3")

    assert (request.path, request.path_as_sent) == ("/a/b", "/a//b/")
    assert (request.header("if-match"), request.header("etag")) == ("3", None)
    assert request.query == [("a", "1"), ("b", ""), ("a", " ")]


async def test_an_answer_has_the_headers_of_all_answers_unless_it_says_otherwise():
    plain = await sent(Response(b"{}"))
    kept = await sent(Response(b"p", 201, "text/css", {"Cache-Control": "no-cache"}))

    shared = {b"content-length": b"2", b"content-type": b"application/json"}
    assert plain == (200, {**shared, b"cache-control": b"no-store"}, b"{}")
    assert kept[1][b"cache-control"] == b"no-cache"


async def test_an_answer_without_a_body_says_so():
    _, head, body = await sent(Response(b"{}"), with_body=False)
    nothing = await sent(Response(status=204))

    assert (head[b"content-length"], body) == (b"2", b"")
    assert nothing == (204, {b"cache-control": b"no-store"}, b"")


@post(
    "/jobs/{job}/copies",
    Operation(
        tag="Jobs",
        summary="Copy a job",
        parameters=(LIMIT, IDEMPOTENCY_KEY),
        answers={200: ("Copied.", None)},
    ),
)
async def copy_job(job: str, request: Request) -> Response:
    return Response(f"{job} {limit_of(request)}".encode())


async def test_a_route_takes_the_query_that_its_operation_declares():
    router = Router([copy_job], ("",))

    assert (copy_job.id, copy_job.names, copy_job.query) == ("copyJob", ["job"], ("limit",))
    with pytest.raises(Invalid, match="query parameter 'a' is not known"):
        await router.answer(asked("POST", "/jobs/7/copies"), SERVICES)
