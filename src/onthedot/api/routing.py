"""Which function answers which call: routes by method and path, declared beside the functions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, NamedTuple

from onthedot.api.http import HttpError, Request, Response
from onthedot.api.services import Services

Handler = Callable[..., Awaitable[Response]]

_NAMED: Final = re.compile(r"\{(\w+)\}")


class Route(NamedTuple):
    """`handler` is given what its parameters name: `request`, `services`, and parts of the path."""

    method: str
    paths: tuple[str, ...]
    handler: Handler
    wants: tuple[str, ...]


def route(method: str, *paths: str) -> Callable[[Handler], Route]:
    """Paths like `/jobs/{job}/runs`; what stands in braces is one part, given as text."""

    def declared(handler: Handler) -> Route:
        wants = tuple(inspect.signature(handler).parameters)
        for path in paths:
            unknown = {*wants} - {"request", "services", *_NAMED.findall(path)}
            assert not unknown, (path, unknown)
        return Route(method, paths, handler, wants)

    return declared


def get(*paths: str) -> Callable[[Handler], Route]:
    return route("GET", *paths)


def post(path: str) -> Callable[[Handler], Route]:
    return route("POST", path)


def put(path: str) -> Callable[[Handler], Route]:
    return route("PUT", path)


def patch(path: str) -> Callable[[Handler], Route]:
    return route("PATCH", path)


def delete(path: str) -> Callable[[Handler], Route]:
    return route("DELETE", path)


class _Place:
    """A place in the tree of paths: what is there, by method, and what lies beneath, by part.

    Beneath `None` lies what has any part here. A fixed part is looked at first, and alone: no path
    of ours has both at one place and goes on differently.
    """

    __slots__ = ("beneath", "names", "routes")

    def __init__(self) -> None:
        self.routes: dict[str, Route] = {}
        self.names: tuple[str, ...] = ()
        self.beneath: dict[str | None, _Place] = {}


class Router:
    def __init__(self, routes: Iterable[Route], prefixes: Iterable[str]) -> None:
        self._root = _Place()
        self.methods: dict[str, set[str]] = {}
        """What each path, as it was declared, can be asked for."""
        every = list(routes)
        for prefix in prefixes:
            for each in every:
                for path in each.paths:
                    self._add(prefix + path, each)

    def _add(self, path: str, route: Route) -> None:
        place = self._root
        for part in filter(None, path.split("/")):
            place = place.beneath.setdefault(None if _NAMED.fullmatch(part) else part, _Place())
        assert route.method not in place.routes, (route.method, path)
        place.routes[route.method] = route
        names = tuple(_NAMED.findall(path))
        assert place.names in ((), names), (path, place.names)
        place.names = names
        self.methods.setdefault(path, set()).add(route.method)

    async def answer(self, request: Request, services: Services) -> Response:
        """What the route of a request answers; HttpError if there is none."""
        place, values = self._found(request)
        found = place.routes.get(request.method)
        if found is None:
            return _without_route(request, place)
        given: dict[str, Any] = {"request": request, "services": services}
        given.update(zip(place.names, values, strict=True))
        return await found.handler(**{name: given[name] for name in found.wants})

    def _found(self, request: Request) -> tuple[_Place, list[str]]:
        place, values = self._root, []
        for part in request.parts:
            beneath = place.beneath.get(part)
            if beneath is None:
                beneath = place.beneath.get(None)
                values.append(part)
            if beneath is None:
                raise HttpError(404)
            place = beneath
        return place, values


def _without_route(request: Request, place: _Place) -> Response:
    if not place.routes:
        raise HttpError(404)
    allowed = {"Allow": ", ".join(sorted({*place.routes, "OPTIONS"}))}
    if request.method == "OPTIONS":
        return Response(status=204, headers=allowed)
    raise HttpError(405, headers=allowed)
