"""Calling a function for a run: what it is told, what it may ask for, and what is kept of it."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from typing import Any

import pytest

from onthedot import App, Context
from onthedot.core.instants import MINUTE, SECOND, parse_instant
from onthedot.core.outcomes import ERROR_BYTES_MAX, VALUE_BYTES_MAX
from onthedot.sdk.calling import CallResult, call
from onthedot.sdk.context import Fail, Retry

DUE = parse_instant("2027-01-31T09:30:00Z", field="due")


def called(function: Any, payload: str = "{}", **fields: Any) -> CallResult:
    """What it comes to as a job."""
    context = Context(
        run_id="r", job_id="job-1", attempt=1, scheduled_us=DUE, deadline_us=DUE + MINUTE, **fields
    )
    made = App().job(name="n")(function)
    return asyncio.run(call(made, payload, context))


# What it returns


def test_what_a_function_returns_is_kept_as_json():
    assert called(lambda: {"rows": [1, 2], "name": "Köln"}).output == '{"rows":[1,2],"name":"Köln"}'
    assert called(lambda: None) == CallResult()


def test_a_result_of_256_kb_is_kept_whole():
    assert called(lambda: "x" * (VALUE_BYTES_MAX - 2)).error is None


def test_a_longer_one_fails_the_attempt_for_good_and_says_what_to_do():
    answer = called(lambda: "ä" * (VALUE_BYTES_MAX // 2))

    assert (answer.output, answer.retryable) == (None, False)
    assert "is too long: 262,146 bytes of JSON" in str(answer.error)
    assert "store it elsewhere and return where it is" in str(answer.error)


def test_a_result_that_is_no_json_fails_the_attempt_for_good():
    answer = called(object)

    assert not answer.retryable
    assert "cannot be kept as JSON" in str(answer.error)


# What it raises


def test_an_exception_is_kept_as_type_and_message_and_the_users_part_of_the_traceback():
    def inner():
        raise LookupError("no such order")

    def outer():
        inner()

    answer = called(outer)

    assert answer.retryable
    lines = str(answer.error).splitlines()
    assert lines[:2] == ["LookupError: no such order", "Traceback (most recent call last):"]
    assert "in outer" in lines[2]
    assert "in inner" in str(answer.error)
    assert "sdk/calling.py" not in str(answer.error)
    assert "futures" not in str(answer.error)


def test_a_coroutines_traceback_is_the_users_too():
    async def broken():
        raise ValueError

    error = str(called(broken).error)

    assert error.splitlines()[0] == "ValueError"
    assert "in broken" in error.splitlines()[2]
    assert "sdk/calling.py" not in error


def test_the_cause_of_an_exception_is_kept_with_it():
    def broken():
        try:
            dict[str, int]()["x"]
        except KeyError as error:
            raise RuntimeError("no x") from error

    error = str(called(broken).error)

    assert error.startswith("RuntimeError: no x\n")
    assert "KeyError: 'x'" in error


def test_a_long_traceback_loses_its_middle_and_keeps_its_end():
    def deep(n: int) -> None:
        if n:
            deep(n - 1)
        raise LookupError("ä" * 20_000)

    error = str(called(lambda: deep(50)).error)

    assert len(error.encode()) <= ERROR_BYTES_MAX
    assert error.startswith("LookupError: äää")
    assert "\n  …\n" in error


@pytest.mark.parametrize("is_coroutine", [True, False])
def test_an_exit_ends_the_attempt_and_nobody_else(is_coroutine):
    async def leaving_coroutine():
        sys.exit(3)

    answer = called(leaving_coroutine if is_coroutine else lambda: sys.exit(3))

    assert str(answer.error).startswith("SystemExit: 3\n")


def test_a_stop_iteration_comes_out_of_a_thread():
    assert str(called(lambda: next(iter(()))).error).startswith("StopIteration\n")


def test_a_cancellation_is_passed_on():
    async def main() -> None:
        started = asyncio.Event()

        async def waiting():
            started.set()
            await asyncio.sleep(60)

        context = Context(run_id="r", job_id="j", attempt=1, scheduled_us=DUE)
        task = asyncio.create_task(call(App().job(name="n")(waiting), "{}", context))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


# What it may ask for


def test_a_retry_may_say_when():
    def busy(ctx, after=None):
        ctx.retry("the till is busy", after=2.5)

    assert called(busy) == CallResult("the till is busy", retry_after_us=2_500_000)


def test_a_retry_without_a_time_comes_when_the_backoff_says():
    assert called(lambda ctx: ctx.retry()).retry_after_us is None
    assert called(lambda ctx: ctx.retry(after=timedelta(minutes=1))).retry_after_us == 60 * SECOND


def test_a_failure_is_for_good_unless_it_says_that_it_is_not():
    assert not called(lambda ctx: ctx.fail("no card")).retryable
    assert called(lambda ctx: ctx.fail("no card")).error == "no card"
    assert called(lambda ctx: ctx.fail("no card", permanent=False)).retryable


@pytest.mark.parametrize(
    ("asking", "words"),
    [
        (lambda ctx: ctx.retry(30), "in words, not 30: ctx.retry(after=30)"),
        (lambda ctx: ctx.retry(after="soon"), "after='soon': give seconds or a timedelta"),
        (lambda ctx: ctx.retry(after=-1), "after=-1 is not between 0 s and 365 days"),
        (lambda ctx: ctx.retry(after=float("nan")), "is not between"),
        (lambda ctx: ctx.fail(404), "in words, not 404: ctx.fail('no card on file')"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_in_words(asking, words):
    assert words in str(called(asking).error)


def test_a_function_knows_when_its_time_is_over():
    answer = called(lambda ctx: (ctx.deadline - ctx.scheduled_for).total_seconds())

    assert answer.output == "60.0"


@pytest.mark.parametrize("kind", [ValueError, Fail, Retry, FileNotFoundError])
def test_half_a_character_in_an_error_is_escaped(kind):
    def function():
        raise kind("no file 'caf\udce9'")

    error = called(function).error

    assert error is not None
    assert error.encode().decode() == error
    assert "no file 'caf\\udce9'" in error


def test_a_function_that_raises_generator_exit_has_failed():
    def function():
        raise GeneratorExit("over")

    assert str(called(function).error).startswith("GeneratorExit: over")
