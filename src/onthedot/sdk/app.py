"""Functions as jobs: `@app.job(...)` on a function makes it one that is scheduled and enqueued."""

from __future__ import annotations

import asyncio
import importlib
import inspect
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from datetime import datetime, timedelta
from functools import cached_property, partial
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    ParamSpec,
    TypeVar,
    Unpack,
    cast,
    get_type_hints,
    overload,
)

import msgspec

from onthedot.errors import Invalid
from onthedot.sdk import enqueueing
from onthedot.sdk.background import BACKGROUND
from onthedot.sdk.client import Client, JobsClient
from onthedot.sdk.context import Context
from onthedot.sdk.isolation import Isolation, isolation_of
from onthedot.sdk.spelling import said, spelled
from onthedot.wire.shapes import CodeKeywords

if TYPE_CHECKING:
    from onthedot.sdk.embedding import Embedded

P = ParamSpec("P")
R = TypeVar("R")


class App:
    """The functions of one program. `onthedot serve --app module:app` runs them."""

    def __init__(
        self, *, name: str | None = None, server: str | None = None, api_key: str | None = None
    ) -> None:
        self._name = name
        self.functions: dict[str, Function[Any, Any]] = {}
        self._given = (server, api_key)
        self._bound: JobsClient | None = None

    @property
    def name(self) -> str:
        """Under which a node within a program declares its jobs: the module of the first one,
        unless given.
        """
        first = next(iter(self.functions.values()), None)
        return self._name or (first.module if first is not None else "app")

    @property
    def client(self) -> Client:
        """Where functions are enqueued: the node in this process, else the server of the settings
        unless another was given.
        """
        return self.jobs.client

    @property
    def jobs(self) -> JobsClient:
        return self._bound or self._remote

    @contextmanager
    def bound_to(self, jobs: JobsClient) -> Iterator[None]:
        """Meanwhile functions are enqueued there."""
        before, self._bound = self._bound, jobs
        try:
            yield
        finally:
            self._bound = before

    @cached_property
    def _remote(self) -> JobsClient:
        return JobsClient(Client(*self._given))

    def node(self, **settings: Any) -> AbstractAsyncContextManager[Embedded]:
        """A node within this program: `async with app.node(database="sqlite:///shop.db"):`.

        Meanwhile the functions run here, on this loop and in its threads, and are enqueued without
        a detour. `settings` are those of a server; without the role `api` it listens nowhere.
        """
        # By name: it brings a whole server, which is built on top of this package.
        embedded = importlib.import_module("onthedot.embedded.node").embedded
        return cast("AbstractAsyncContextManager[Embedded]", embedded(self, settings))

    @overload
    def job(self, function: Callable[P, R], /) -> Function[P, R]: ...
    @overload
    def job(
        self,
        /,
        *,
        name: str | None = None,
        isolation: Literal["process"] | None = None,
        memory_limit: str | int | None = None,
        **fields: Unpack[CodeKeywords],
    ) -> Callable[[Callable[P, R]], Function[P, R]]: ...
    def job(
        self,
        function: Callable[P, R] | None = None,
        /,
        *,
        name: str | None = None,
        isolation: Literal["process"] | None = None,
        memory_limit: str | int | None = None,
        **fields: Unpack[CodeKeywords],
    ) -> Function[P, R] | Callable[[Callable[P, R]], Function[P, R]]:
        """Make a job of a function. `fields` are those of a job in the API, in Python's spelling:
        `cron`, `every`, `fixed_delay`, `schedule`, `timezone`, `queue`, `priority` and so on.
        `isolation="process"` gives each run a process of its own, with a `memory_limit` if wanted.
        """

        def declared(function: Callable[P, R]) -> Function[P, R]:
            own_name = f"{function.__module__}.{function.__qualname__}"
            process = isolation_of(isolation, memory_limit)
            made = Function(self, function, name or own_name, fields, process)
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
        self,
        app: App,
        function: Callable[P, R],
        name: str,
        fields: CodeKeywords,
        isolation: Isolation | None,
    ) -> None:
        self.name = name
        self.module = function.__module__
        self.app = app
        self.fields = fields
        self.isolation = isolation
        self.is_coroutine = inspect.iscoroutinefunction(function)
        self._function = function
        self._arguments, self._wants_context = _arguments_of(function)
        self._decoder = msgspec.json.Decoder(self._arguments)
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
        return await self._trigger(arguments, delay=delay)

    async def enqueue_at(self, at: datetime, /, *, connection: Any = None, **arguments: Any) -> str:
        """Run it at this instant, which must have a time zone."""
        if connection is not None:
            return (await self._within(connection, [arguments], at=at))[0]
        return await self._trigger(arguments, run_at=said(at, "at"))

    async def enqueue_many(
        self, many: Iterable[Mapping[str, Any]], *, connection: Any = None
    ) -> list[str]:
        """Run it once with each of these arguments; returns the ids in the same order. Up to 1000
        that have 200 KB together are made all or none.
        """
        if connection is not None:
            return await self._within(connection, [dict(each) for each in many])
        runs = [{"payload": dict(arguments)} for arguments in many]
        for run in runs:
            self._check(run["payload"])
        return await self.app.jobs.trigger_many(self.name, runs)

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
        return await self.app.jobs.trigger(self.name, {"payload": arguments, **when})

    def _check(self, arguments: Mapping[str, Any]) -> None:
        """Here, at the door, instead of in a worker at night."""
        self._decoded(msgspec.json.encode(arguments))

    def bound(self, payload: str, context: Context) -> Callable[[], Any]:
        """The call that a payload stands for. Raises Invalid if it does not fit the function."""
        given = self._decoded(payload)
        keywords = msgspec.structs.asdict(given)
        first: tuple[Any, ...] = (context,) if self._wants_context else ()
        return partial(self._function, *first, **keywords)

    def _decoded(self, payload: str | bytes) -> msgspec.Struct:
        try:
            return self._decoder.decode(payload)
        except msgspec.ValidationError as error:
            raise Invalid(
                f"the payload does not fit {self.name}: {error}",
                hint=f"It takes {_described(self._arguments)}.",
                field="payload",
            ) from None

    def declaration(self) -> dict[str, Any]:
        """The job, as the API takes it."""
        return {
            "name": self.name,
            "key": self.name,
            "handler": self.name,
            **spelled(self.fields),
        }


class Blocking:
    """What a function can be asked for, for callers without an event loop."""

    def __init__(self, function: Function[Any, Any]) -> None:
        self._function = function

    def enqueue(self, **arguments: Any) -> str:
        return self._wait(self._function.enqueue(**arguments), arguments)

    def enqueue_in(self, delay: float | timedelta, /, **arguments: Any) -> str:
        return self._wait(self._function.enqueue_in(delay, **arguments), arguments)

    def enqueue_at(self, at: datetime, /, **arguments: Any) -> str:
        return self._wait(self._function.enqueue_at(at, **arguments), arguments)

    def enqueue_many(
        self, many: Iterable[Mapping[str, Any]], *, connection: Any = None
    ) -> list[str]:
        work = self._function.enqueue_many(many, connection=connection)
        return self._wait(work, {"connection": connection})

    def _wait(self, work: Coroutine[Any, Any, R], arguments: Mapping[str, Any]) -> R:
        """In the background or, through the caller's connection, here: it belongs to this
        thread.
        """
        connection = arguments.get("connection")
        if connection is not None:
            return enqueueing.finished(work, connection)
        loop = self._function.app.jobs.loop
        if loop is not None and loop is asyncio._get_running_loop():
            work.close()
            raise Invalid(
                f"{self._function.name}.blocking would wait for the loop that it holds up",
                hint="In a coroutine: await fn.enqueue(...).",
            )
        return BACKGROUND.run(work)


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
