"""Where the demo's callbacks go: a small HTTP server inside the demo, well behaved and badly."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

SLOW_S = 3.0
FLAKY_FAILURES = 2
BODY_MAX = 1 << 20


class Receiver:
    """Listens on a free loopback port while the context is open."""

    def __init__(self) -> None:
        self._server = _ReceiverServer(("127.0.0.1", 0), _ReceiverHandler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="demo-receiver", daemon=True
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Receiver:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _ReceiverServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a client that keeps its connection open must not hold up the end

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self.closing = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """A caller that hangs up is part of the show, for instance when the demo ends."""


class _ReceiverHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else an answer in two packets can take 40 ms
    server: _ReceiverServer

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > BODY_MAX:
            self.close_connection = True
            self._answer(411, "the demo wants a Content-Length")
            return
        self.rfile.read(int(length))
        status, text = self._behave()
        self._answer(status, text)

    def _behave(self) -> tuple[int, str]:
        match self.path:
            case "/flaky" if self._attempt() <= FLAKY_FAILURES:
                return 503, "busy, try again"
            case "/broken":
                return 404, "there is nothing here"
            case "/slow":
                self.server.closing.wait(SLOW_S)
        return 200, "ok"

    def _attempt(self) -> int:
        attempt = self.headers.get("Onthedot-Attempt", "")
        return int(attempt) if attempt.isdigit() else 1

    def _answer(self, status: int, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """The demo shows what the ledger says; a second log would only hide it."""
