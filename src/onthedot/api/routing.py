"""Which function answers which call: routes by method and path, declared beside the functions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from types import ModuleType
from typing import Any, Final, NamedTuple

from onthedot.api.http import HttpError, Request, Response
from onthedot.api.operation import Operation
from onthedot.api.services import Services

Handler = Callable[..., Awaitable[Response]]

_NAMED: Final = re.compile(r"\{(\w+)\}")


class Route(NamedTuple):
    """`handler` is given what its parameters name: `request`, `services`, and parts of the path.
    `query`: the parameters that it declares. A route without an operation is no part of the API.
    """

    method: str
    path: str
    handler: Handler
    wants: tuple[str, ...]
    operation: Operation | None = None
    query: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """What stands in braces in its path."""
        return _NAMED.findall(self.path)

    @property
    def id(self) -> str:
        """As the API names the operation: `createJob` for `create_job`."""
        first, *rest = self.handler.__name__.split("_")
        return first + "".join(part.capitalize() for part in rest)


def route(method: str, path: str, operation: Operation | None = None) -> Callable[[Handler], Route]:
    """Paths like `/jobs/{job}/runs`; what stands in braces is one part, given as text."""

    def declared(handler: Handler) -> Route:
        wants = tuple(inspect.signature(handler).parameters)
        unknown = {*wants} - {"request", "services", *_NAMED.findall(path)}
        assert not unknown, (path, unknown)
        parameters = () if operation is None else operation.parameters
        query = tuple(each.name for each in parameters if each.place == "query")
        return Route(method, path, handler, wants, operation, query)

    return declared


get = partial(route, "GET")
post = partial(route, "POST")
put = partial(route, "PUT")
patch = partial(route, "PATCH")
delete = partial(route, "DELETE")


def routes_in(*modules: ModuleType) -> tuple[Route, ...]:
    """The routes that these modules declare, in their order."""
    values = [value for module in modules for value in vars(module).values()]
    return tuple(value for value in values if isinstance(value, Route))


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
                self._add(prefix + each.path, each)

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
        request.parameters = found.query
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
