"""Functions as jobs: `@app.job(...)` on a function makes it one that is scheduled and enqueued."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Generic, ParamSpec, TypeVar, get_type_hints, overload

import msgspec

from onthedot.errors import Invalid
from onthedot.sdk.context import Context

P = ParamSpec("P")
R = TypeVar("R")


class App:
    """The functions of one program. `onthedot serve --app module:app` runs them."""

    def __init__(self) -> None:
        self.functions: dict[str, Function[Any, Any]] = {}

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
            made = Function(function, name or own_name, fields)
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

    def __init__(self, function: Callable[P, R], name: str, fields: Mapping[str, Any]) -> None:
        self.name = name
        self.fields = dict(fields)
        self.is_coroutine = inspect.iscoroutinefunction(function)
        self._function = function
        self._arguments, self._wants_context = _arguments_of(function)
        self.__doc__ = function.__doc__

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._function(*args, **kwargs)

    def bound(self, payload: str, context: Context) -> Callable[[], Any]:
        """The call that a payload stands for. Raises Invalid if it does not fit the function."""
        try:
            given = msgspec.json.decode(payload, type=self._arguments)
        except msgspec.ValidationError as error:
            raise Invalid(
                f"the payload does not fit {self.name}: {error}",
                hint=f"It takes {_described(self._arguments)}.",
                field="payload",
            ) from None
        keywords = {name: getattr(given, name) for name in self._arguments.__struct_fields__}
        first = (context,) if self._wants_context else ()
        return lambda: self._function(*first, **keywords)

    def declaration(self) -> dict[str, Any]:
        """The job, as the API takes it."""
        fields = {_API_NAMES.get(name, name): value for name, value in self.fields.items()}
        return {"name": self.name, "key": self.name, "handler": self.name, **fields}


_API_NAMES = {
    "cron": "cronExpr",
    "catch_up": "catchUp",
    "catch_up_window": "catchUpWindow",
    "run_at": "runAt",
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


async def outcome_of(call: Callable[[], Any], is_coroutine: bool) -> Any:
    """Call it: a coroutine on this loop, a function in a thread."""
    if is_coroutine:
        return await call()
    return await asyncio.get_running_loop().run_in_executor(None, call)
