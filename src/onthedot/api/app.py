"""The application: every route twice, with `/v1` and without, behind the gates."""

from __future__ import annotations

from onthedot.api import auth, browsers, pages, problems
from onthedot.api.http import Receive, Request, Response, Scope, Send
from onthedot.api.openapi import document
from onthedot.api.routes import ROUTES
from onthedot.api.routing import Router, routes_in
from onthedot.api.services import Services


def build(services: Services) -> Application:
    """The ASGI application. It owns nothing: whoever made the services closes them."""
    return Application(services)


class Application:
    """The gates stand before the router, so that unknown paths pass through them, too."""

    def __init__(self, services: Services) -> None:
        self._services = services
        document(services.version)  # it takes longer than anything that is asked for: made once
        self.router = Router([*ROUTES, *routes_in(pages)], ("", "/v1"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http", "nobody serves anything else"
        request = Request(scope, receive)
        response = await self._answer(request)
        await response.send(send, browsers.DEFAULTS, with_body=request.wants_body)

    async def _answer(self, request: Request) -> Response:
        hosts = self._services.hosts
        refused = (
            (None if hosts is None else hosts.refused(request))
            or browsers.refused(request)
            or auth.refused(request, self._services.api_key)
        )
        if refused is not None:
            return refused
        try:
            return await self.router.answer(request, self._services)
        except Exception as error:  # noqa: BLE001 - each has an answer, or is our own mistake
            return problems.answer_to(request, error)
