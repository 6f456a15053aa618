"""Answers as only a raw socket gives them: bodyless, endless, broken off, not HTTP at all."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.integration.test_server_kit import QUICK

HEAD_MAX = 1 << 20
ENDLESS_MAX = 64 << 20
LATIN_1 = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=iso-8859-1\r\n"
    b"Content-Length: 2\r\n\r\n\xe4\xf6"
)
CHUNK = b"10000\r\n" + b"y" * 65_536 + b"\r\n"

Answer = Callable[[Callable[[bytes], None]], None]


class _Listener(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


@contextmanager
def answering(answer: bytes | Answer) -> Iterator[str]:
    """The URL of a listener that reads one request and says exactly this."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            head = self.rfile.readline()
            length = 0
            while (line := self.rfile.readline(HEAD_MAX)) not in (b"\r\n", b""):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            self.rfile.read(length)
            assert head.startswith(b"POST ")
            try:
                if isinstance(answer, bytes):
                    self.wfile.write(answer)
                else:
                    answer(lambda said: void(self.wfile.write(said)))
            except OSError:
                return  # the caller left first

    with _Listener(("127.0.0.1", 0), Handler) as listener:
        thread = threading.Thread(target=listener.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.server_address[1]}/"
        finally:
            listener.shutdown()
            thread.join(10)


def void(_: object) -> None:
    return None


def endless(say: Callable[[bytes], None]) -> None:
    say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(ENDLESS_MAX // len(CHUNK)):
        say(CHUNK)


@pytest.mark.parametrize(
    ("answer", "output"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", ""),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end", "until the end"),
        (b"HTTP/1.0 200 OK\r\n\r\nan old one", "an old one"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na\0b", "a\N{REPLACEMENT CHARACTER}b"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\xff\xfe", "\N{REPLACEMENT CHARACTER}" * 2),
        (LATIN_1, "äö"),
    ],
)
def test_a_success_is_kept_with_what_was_said(stage, answer, output):
    with answering(answer) as url:
        run = stage.ran(handlerUrl=url, retries=0)

    assert (run["status"], run["error"], run["output"]) == ("succeeded", None, output)


def test_an_endless_answer_is_cut_and_left(stage):
    with answering(endless) as url:
        run = stage.ran(handlerUrl=url, retries=0, timeout=10)

    assert run["status"] == "succeeded"
    assert run["output"].startswith("y" * 65_000)
    assert len(run["output"]) < 65_536 + 100


def test_an_answer_of_not_modified_fails_at_once(stage):
    with answering(b"HTTP/1.1 304 Not Modified\r\n\r\n") as url:
        run = stage.ran(handlerUrl=url)

    assert (run["status"], run["attempt"]) == ("failed", 1)
    assert run["error"].startswith("HTTP 304 Not Modified")


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 200_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Len",
    ],
)
def test_what_is_no_http_answer_is_a_network_error_and_retried(stage, answer):
    with answering(answer) as url:
        run = stage.ran(handlerUrl=url, retries=1, backoff=QUICK)

    assert (run["status"], run["attempt"]) == ("failed", 2)
    assert run["error"]
    assert run["output"] is None


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\n",
    ],
)
def test_a_success_whose_body_breaks_off_is_a_failed_attempt(stage, answer):
    with answering(answer) as url:
        run = stage.ran(handlerUrl=url, retries=1, backoff=QUICK)

    assert (run["status"], run["attempt"], run["output"]) == ("failed", 2, "half")
    assert run["error"].startswith("the answer (HTTP 200) broke off: Not enough data")


def test_a_failure_whose_body_breaks_off_fails_as_it_says(stage):
    with answering(b"HTTP/1.1 404 Not Found\r\nContent-Length: 100\r\n\r\nhalf") as url:
        run = stage.ran(handlerUrl=url, retries=1, backoff=QUICK)

    assert (run["status"], run["attempt"], run["error"]) == ("failed", 1, "HTTP 404 Not Found")
