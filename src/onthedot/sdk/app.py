"""Functions as jobs: `@app.job(...)` on a function makes it one that is scheduled and enqueued."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Generic, ParamSpec, TypeVar, get_type_hints, overload

import msgspec

from onthedot.errors import Invalid
from onthedot.sdk import enqueueing
from onthedot.sdk.client import BACKGROUND, Client
from onthedot.sdk.context import Context

P = ParamSpec("P")
R = TypeVar("R")


class App:
    """The functions of one program. `onthedot serve --app module:app` runs them."""

    def __init__(self, *, server: str | None = None, api_key: str | None = None) -> None:
        self.functions: dict[str, Function[Any, Any]] = {}
        self._given = (server, api_key)

    @cached_property
    def client(self) -> Client:
        """The server that functions are enqueued at: the one of the settings unless given."""
        return Client(*self._given)

    @overload
    def job(self, function: Callable[P, R], /) -> Function[P, R]: ...
    @overload
    def job(
        self, /, *, name: str | None = None, **fields: Any
    ) -> Callable[[Callable[P, R]], Function[P, R]]: ...
    def job(
        self, function: Callable[P, R] | None = None, /, *, name: str | None = None, **fields: Any
    ) -> Function[P, R] | Callable[[Callable[P, R]], Function[P, R]]:
        """Make a job of a function. `fields` are those of a job in the API, in Python's spelling:
        `cron`, `every`, `timezone`, `queue`, `priority`, `retries`, `timeout`, `tags` and so on.
        """

        def declared(function: Callable[P, R]) -> Function[P, R]:
            own_name = f"{function.__module__}.{function.__qualname__}"
            made = Function(self, function, name or own_name, fields)
            if made.name in self.functions:
                raise Invalid(
                    f"two functions are called '{made.name}'",
                    hint="Give one of them another name: @app.job(name='…').",
                    field="name",
                )
            self.functions[made.name] = made
            return made

        return declared if function is None else declared(function)


class Function(Generic[P, R]):
    """A function that is a job. Calling it calls the function, here and now."""

    def __init__(
        self, app: App, function: Callable[P, R], name: str, fields: Mapping[str, Any]
    ) -> None:
        self.name = name
        self._app = app
        self.fields = dict(fields)
        self.is_coroutine = inspect.iscoroutinefunction(function)
        self._function = function
        self._arguments, self._wants_context = _arguments_of(function)
        self.__doc__ = function.__doc__

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._function(*args, **kwargs)

    async def enqueue(self, *, connection: Any = None, **arguments: Any) -> str:
        """Run it as soon as a worker is free; returns the id of the run. With a `connection` to
        onthedot's PostgreSQL the run is part of its transaction: it is there if that commits.
        """
        if connection is not None:
            return (await self._within(connection, [arguments]))[0]
        return await self._trigger(arguments)

    async def enqueue_in(
        self, delay: float | timedelta, /, *, connection: Any = None, **arguments: Any
    ) -> str:
        """Run it after so many seconds."""
        if connection is not None:
            return (await self._within(connection, [arguments], delay=delay))[0]
        seconds = delay.total_seconds() if isinstance(delay, timedelta) else delay
        return await self._trigger(arguments, delay=seconds)

    async def enqueue_at(self, at: datetime, /, *, connection: Any = None, **arguments: Any) -> str:
        """Run it at this instant, which must have a time zone."""
        if connection is not None:
            return (await self._within(connection, [arguments], at=at))[0]
        if at.tzinfo is None:
            raise Invalid(
                f"{at.isoformat()} has no time zone",
                hint="Use datetime.now(UTC) or a ZoneInfo.",
                field="at",
            )
        return await self._trigger(arguments, runAt=at.astimezone(UTC).isoformat())

    async def enqueue_many(
        self, many: Iterable[Mapping[str, Any]], *, connection: Any = None
    ) -> list[str]:
        """Run it once with each of these arguments; returns the ids in the same order."""
        if connection is not None:
            return await self._within(connection, [dict(each) for each in many])
        for arguments in (checked := [dict(each) for each in many]):
            self._check(arguments)
        return [await self.enqueue(**arguments) for arguments in checked]

    @property
    def blocking(self) -> Blocking:
        """The same for code without an event loop: `fn.blocking.enqueue(...)`."""
        return Blocking(self)

    async def _within(
        self, connection: Any, many: Sequence[Mapping[str, Any]], **when: Any
    ) -> list[str]:
        for arguments in many:
            self._check(arguments)
        return await enqueueing.enqueue(connection, self.name, many, **when)

    async def _trigger(self, arguments: dict[str, Any], **when: Any) -> str:
        self._check(arguments)
        return await self._app.client.trigger(self.name, arguments, **when)

    def _check(self, arguments: Mapping[str, Any]) -> None:
        """Here, at the door, instead of in a worker at night."""
        self._decoded(msgspec.json.encode(arguments))

    def bound(self, payload: str, context: Context) -> Callable[[], Any]:
        """The call that a payload stands for. Raises Invalid if it does not fit the function."""
        given = self._decoded(payload)
        keywords = {name: getattr(given, name) for name in self._arguments.__struct_fields__}
        first = (context,) if self._wants_context else ()
        return lambda: self._function(*first, **keywords)

    def _decoded(self, payload: str | bytes) -> msgspec.Struct:
        try:
            return msgspec.json.decode(payload, type=self._arguments)
        except msgspec.ValidationError as error:
            raise Invalid(
                f"the payload does not fit {self.name}: {error}",
                hint=f"It takes {_described(self._arguments)}.",
                field="payload",
            ) from None

    def declaration(self) -> dict[str, Any]:
        """The job, as the API takes it."""
        fields = {_API_NAMES.get(name, name): value for name, value in self.fields.items()}
        if isinstance(fields.get("onFailure"), str):
            fields["onFailure"] = {"url": fields["onFailure"]}
        return {"name": self.name, "key": self.name, "handler": self.name, **fields}


class Blocking:
    """What a function can be asked for, for callers without an event loop."""

    def __init__(self, function: Function[Any, Any]) -> None:
        self._function = function

    def enqueue(self, **arguments: Any) -> str:
        return _run(self._function.enqueue(**arguments), arguments)

    def enqueue_in(self, delay: float | timedelta, /, **arguments: Any) -> str:
        return _run(self._function.enqueue_in(delay, **arguments), arguments)

    def enqueue_at(self, at: datetime, /, **arguments: Any) -> str:
        return _run(self._function.enqueue_at(at, **arguments), arguments)

    def enqueue_many(
        self, many: Iterable[Mapping[str, Any]], *, connection: Any = None
    ) -> list[str]:
        work = self._function.enqueue_many(many, connection=connection)
        return _run(work, {"connection": connection})


def _run(work: Coroutine[Any, Any, R], arguments: Mapping[str, Any]) -> R:
    """In the background or, through the caller's connection, here: it belongs to this thread."""
    connection = arguments.get("connection")
    return BACKGROUND.run(work) if connection is None else enqueueing.finished(work, connection)


_API_NAMES = {
    "cron": "cronExpr",
    "catch_up": "catchUp",
    "catch_up_window": "catchUpWindow",
    "run_at": "runAt",
    "on_failure": "onFailure",
}


def _arguments_of(function: Callable[..., Any]) -> tuple[type[msgspec.Struct], bool]:
    """A struct of the function's parameters, and whether the first of them is the context."""
    hints = get_type_hints(function)
    parameters = list(inspect.signature(function).parameters.values())
    wants_context = bool(parameters) and (
        hints.get(parameters[0].name) is Context or parameters[0].name == "ctx"
    )
    fields: list[Any] = []
    for parameter in parameters[wants_context:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise Invalid(
                f"{function.__qualname__} takes any number of arguments",
                hint="Name every parameter: a payload has named values.",
            )
        if parameter.name == "connection":
            raise Invalid(
                f"{function.__qualname__} has a parameter called connection",
                hint="Call it something else: enqueue(connection=…) means the caller's own.",
            )
        hint = hints.get(parameter.name, Any)
        fields.append(
            (parameter.name, hint)
            if parameter.default is parameter.empty
            else (parameter.name, hint, parameter.default)
        )
    made = msgspec.defstruct("Arguments", fields, kw_only=True, forbid_unknown_fields=True)
    return made, wants_context


def _described(arguments: type[msgspec.Struct]) -> str:
    names = arguments.__struct_fields__
    return f"an object with {', '.join(names)}" if names else "an empty object"
