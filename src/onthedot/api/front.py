"""What answers on the socket: the API, and until there is a database only that there is none."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Callable

from onthedot.api import browsers, problems
from onthedot.api.app import Application
from onthedot.api.health import health_out
from onthedot.api.http import Receive, Request, Response, Scope, Send
from onthedot.api.limits import Limits
from onthedot.api.responses import answer
from onthedot.api.serving import Serving, url_of
from onthedot.errors import StoreUnavailable
from onthedot.observe.health import Health
from onthedot.wire import LiveOut


class ApiFront:
    """On a socket that is bound: callers wait from then on, and are answered from `wait` or `open`
    on.
    """

    def __init__(
        self, listening: socket.socket, version: str, roles: tuple[str, ...], limits: Limits
    ) -> None:
        self.refused: Counter[str] = Counter()
        """What clients are refused, by reason."""
        self.on_failure: Callable[[], None] = lambda: None
        """Called if it ends before it is closed, by a fault of ours."""
        self._limits = limits
        self.url = url_of(listening)
        self._listening = listening
        self._version = version
        self._roles = roles
        self._problem = ""
        self._application: Application | None = None
        self._serving: Serving | None = None

    def begin(self, problem: str) -> None:
        """To answer, with this reason unless there is another one."""
        self.wait(self._problem or problem)

    def wait(self, problem: str) -> None:
        """There is no database, for this reason."""
        self._problem = problem
        self._serve()

    def open(self, application: Application) -> None:
        self._application = application
        self._serve()

    def _serve(self) -> None:
        if self._serving is None:
            self._serving = Serving(
                self, self._listening, limits=self._limits, refused=self.refused
            )
            self._serving.on_failure = self._failed

    def _failed(self) -> None:
        self.on_failure()

    async def close(self) -> None:
        serving, self._serving = self._serving, None
        if serving is not None:
            await serving.close()
        self._listening.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._application is not None:
            await self._application(scope, receive, send)
            return
        request = Request(scope, receive)
        response = self._unready(request)
        await response.send(send, browsers.DEFAULTS, with_body=request.wants_body)

    def _unready(self, request: Request) -> Response:
        path = request.path.removeprefix("/v1")
        if path == "/health/live":
            return answer(LiveOut())
        if path in ("/health", "/health/ready"):
            health = Health(0, self._roles, (self._problem,))
            return answer(health_out(health, self._version), 503)
        problem = problems.problem_of(StoreUnavailable(self._problem))
        return problems.problem_response(problem)
