"""Functions as jobs: what is declared, how a payload becomes a call, and what is refused."""

from __future__ import annotations

import asyncio
from datetime import datetime

import pytest

from onthedot import App, Context
from onthedot.errors import Invalid

CONTEXT = Context(run_id="r", job_id="job-1", attempt=2, scheduled_us=1_772_452_800_000_001)


def test_a_function_is_declared_as_a_job_with_its_own_name():
    app = App()

    @app.job
    def charge(amount: int) -> None: ...

    name = f"{__name__}.{charge.declaration()['handler'].removeprefix(__name__ + '.')}"
    assert charge.declaration() == {"name": name, "key": name, "handler": name}
    assert list(app.functions) == [name]


def test_the_fields_of_a_job_go_to_the_api_in_its_spelling():
    app = App()

    @app.job(name="nightly", cron="0 2 * * *", timezone="Europe/Berlin", retries=1, catch_up="all")
    def report() -> None: ...

    assert report.declaration() == {
        "name": "nightly",
        "key": "nightly",
        "handler": "nightly",
        "cronExpr": "0 2 * * *",
        "timezone": "Europe/Berlin",
        "retries": 1,
        "catchUp": "all",
    }


def test_who_is_told_of_failures_may_be_just_a_url():
    app = App()

    @app.job(name="nightly", on_failure="https://example.com/pager")
    def report() -> None: ...

    assert report.declaration()["onFailure"] == {"url": "https://example.com/pager"}


def test_two_functions_of_one_name_are_refused():
    app = App()
    app.job(name="same")(lambda: None)

    with pytest.raises(Invalid, match="two functions are called 'same'"):
        app.job(name="same")(lambda: None)


def test_a_direct_call_calls_the_function():
    app = App()

    @app.job
    def double(number: int) -> int:
        return 2 * number

    @app.job
    async def triple(number: int) -> int:
        return 3 * number

    assert double(4) == 8
    assert asyncio.run(triple(4)) == 12


def test_a_payload_becomes_named_arguments_with_defaults():
    app = App()

    @app.job
    def greet(name: str, times: int = 2) -> list[str]:
        return [name] * times

    assert greet.bound('{"name": "ana"}', CONTEXT)() == ["ana", "ana"]
    assert greet.bound('{"name": "ana", "times": 1}', CONTEXT)() == ["ana"]


@pytest.mark.parametrize("with_hint", [False, True])
def test_the_context_comes_first_if_it_is_asked_for(with_hint):
    app = App()
    if with_hint:

        @app.job(name="told")
        def told(about: Context, word: str) -> tuple[int, str]:
            return about.attempt, word

    else:

        @app.job(name="told")
        def told(ctx, word: str):
            return ctx.attempt, word

    assert app.functions["told"].bound('{"word": "x"}', CONTEXT)() == (2, "x")
    assert CONTEXT.scheduled_for.isoformat() == "2026-03-02T12:00:00.000001+00:00"


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ("{}", "missing required field `name`"),
        ('{"name": 5}', "Expected `str`, got `int`"),
        ('{"nam": "x", "name": "y"}', "unknown field `nam`"),
        ('["x"]', "Expected `object`"),
    ],
)
def test_a_payload_that_does_not_fit_is_refused_with_what_would(payload, words):
    app = App()

    @app.job(name="greet")
    def greet(name: str, times: int = 2) -> None: ...

    with pytest.raises(Invalid) as refused:
        greet.bound(payload, CONTEXT)

    assert words in str(refused.value)
    assert refused.value.hint == "It takes an object with name, times."


def test_a_function_without_named_parameters_cannot_be_a_job():
    app = App()

    with pytest.raises(Invalid, match="any number of arguments"):

        @app.job
        def anything(**more: int) -> None: ...


async def test_arguments_are_checked_before_anything_is_sent():
    app = App(server="http://127.0.0.1:9")

    @app.job(name="greet")
    def greet(name: str) -> None: ...

    with pytest.raises(Invalid, match="does not fit"):
        await greet.enqueue(nam="ana")
    with pytest.raises(Invalid, match="does not fit"):
        await greet.enqueue_many([{"name": "ana"}, {"name": 5}])
    with pytest.raises(Invalid, match="no time zone"):
        await greet.enqueue_at(datetime(2027, 1, 1), name="ana")  # noqa: DTZ001
