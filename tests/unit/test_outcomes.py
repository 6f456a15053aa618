"""From what a handler answered to what is written about the attempt."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from onthedot.core.instants import MILLISECOND, MINUTE, SECOND
from onthedot.core.model import Backoff, Definition, ExecutionSpec, LeasedRun, Outcome, occurrence
from onthedot.core.outcomes import (
    CUT_MARK,
    ERROR_BYTES_MAX,
    OUTPUT_BYTES_MAX,
    VALUE_BYTES_MAX,
    Result,
    end_by_request,
    http_result,
    settle,
    storable,
    timed_out,
    unrecordable,
)
from onthedot.core.states import Status
from onthedot.core.traits import AT_MOST_ONCE
from tests.support.builders import handling_of

DUE = 1_772_452_800 * SECOND
STARTED, NOW = DUE + 3 * MILLISECOND, DUE + SECOND
MARK_BYTES = len(CUT_MARK.encode())


def a_run(attempt: int = 1) -> LeasedRun:
    return LeasedRun(
        33, occurrence(DUE), 4, "default|default|", 0, 5, DUE, DUE, attempt, 2, 17, None
    )


def a_handling(retries: int = 3, **fields: Any) -> ExecutionSpec:
    definition = Definition(name="n", handler_url="http://127.0.0.1:9/", retries=retries, **fields)
    return handling_of(definition)


def settled(result: Result, *, attempt: int = 1, retries: int = 3, jitter: float = 0.0) -> Outcome:
    return settle(
        a_run(attempt), a_handling(retries), result, started=STARTED, now=NOW, jitter=jitter
    )


# --- what an answer means -----------------------------------------------------------------------


def test_every_status_is_judged():
    for status in range(100, 600):
        result = http_result(status, "body")

        succeeds = 200 <= status <= 299
        may_succeed_later = status in (408, 425, 429) or 500 <= status <= 599
        assert result.output == "body", status
        assert (result.error is None) is succeeds, status
        assert succeeds or result.retryable is may_succeed_later, status


def test_an_error_names_the_number_in_words_that_fit_on_a_line():
    for status in (*range(100, 200), *range(300, 600), 0, -1, 999, 10**9):
        error = http_result(status, "").error

        assert error is not None, status
        assert error.split()[:2] == ["HTTP", str(status)]
        assert error == error.strip()
        assert "\n" not in error


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (500, "HTTP 500 Internal Server Error"),
        (404, "HTTP 404 Not Found"),
        (599, "HTTP 599"),
        (302, "HTTP 302 Found (redirects are not followed)"),
        (399, "HTTP 399 (redirects are not followed)"),
    ],
)
def test_an_error_says_what_happened_in_words(status, error):
    assert http_result(status, "").error == error


@pytest.mark.parametrize(
    ("timeout_us", "error"),
    [
        (SECOND, "timed out after 1 s"),
        (MINUTE, "timed out after 1 min"),
        (1_500_000, "timed out after 1.5 s"),
        (50 * MILLISECOND, "timed out after 50 ms"),
    ],
)
def test_a_timeout_says_how_long_it_waited_and_may_be_retried(timeout_us, error):
    assert timed_out(timeout_us) == Result(error=error, output=None, retryable=True)


# --- what is written ----------------------------------------------------------------------------


def test_a_success_is_written_with_its_output_and_under_its_fence():
    outcome = settled(http_result(204, "done"), attempt=2)

    assert outcome == Outcome(
        job=33,
        run=occurrence(DUE),
        attempt=2,
        fence=17,
        status=Status.SUCCEEDED,
        started=STARTED,
        finished=NOW,
        output="done",
    )


@pytest.mark.parametrize("attempt", [1, 2, 3])
def test_a_failure_with_attempts_left_is_followed_by_another_after_the_backoff(attempt):
    outcome = settled(http_result(503, "busy"), attempt=attempt, jitter=0.5)

    assert (outcome.status, outcome.error) == (Status.FAILED, "HTTP 503 Service Unavailable")
    assert (outcome.attempt, outcome.output, outcome.reason) == (attempt, "busy", None)
    assert outcome.retry_at == NOW + 2 ** (attempt - 1) * SECOND * 3 // 4


@pytest.mark.parametrize(("retries", "attempt"), [(0, 1), (3, 4), (3, 5)])
def test_a_failure_out_of_attempts_is_final(retries, attempt):
    outcome = settled(timed_out(SECOND), retries=retries, attempt=attempt)

    assert (outcome.status, outcome.reason) == (Status.FAILED, "out of attempts")
    assert (outcome.error, outcome.retry_at) == ("timed out after 1 s", None)


def test_a_failure_that_is_not_retryable_is_final_at_once():
    outcome = settled(http_result(404, "gone"), attempt=1)

    assert (outcome.status, outcome.reason) == (Status.FAILED, "not retryable")
    assert (outcome.error, outcome.retry_at) == ("HTTP 404 Not Found", None)


def test_a_rescue_uses_up_no_attempt():
    run = a_run(attempt=1)._replace(rescues=50)

    outcome = settle(run, a_handling(1), timed_out(SECOND), started=STARTED, now=NOW, jitter=0.0)

    assert outcome.retry_at is not None


def test_an_unknown_outcome_is_lost_where_one_start_was_promised_and_else_a_failure():
    unknown = Result(error="its runner process was killed by SIGKILL", unknown=True)
    once = a_run()._replace(traits=AT_MOST_ONCE)

    lost = settle(once, a_handling(0), unknown, started=STARTED, now=NOW, jitter=0.0)
    failed = settled(unknown, retries=0)

    assert (lost.status, lost.reason, lost.retry_at) == (Status.LOST, "outcome unknown", None)
    assert lost.error == unknown.error
    assert failed.status is Status.FAILED


def test_the_backoff_is_the_jobs_own():
    execution = a_handling(backoff=Backoff(initial_us=MINUTE, factor=1.0, max_us=MINUTE))

    outcome = settle(a_run(3), execution, timed_out(SECOND), started=STARTED, now=NOW, jitter=0.0)

    assert outcome.retry_at == NOW + MINUTE // 2


@pytest.mark.parametrize("started", [None, STARTED])
def test_a_run_that_somebody_cancelled_says_why_and_is_not_retried(started):
    outcome = end_by_request(a_run(2), "job deleted", started=started, now=NOW)

    assert (outcome.status, outcome.reason) == (Status.CANCELLED, "job deleted")
    assert (outcome.attempt, outcome.fence, outcome.started) == (2, 17, started)
    assert outcome.finished == NOW
    assert (outcome.error, outcome.output, outcome.retry_at) == (None, None, None)


@pytest.mark.parametrize("status", [200, 404, 503])
def test_an_outcome_that_cannot_be_written_ends_the_run_in_words(status):
    outcome = unrecordable(settled(http_result(status, "x" * 100)), "no such\0column")

    assert outcome.status is Status.FAILED
    assert outcome.error is not None
    assert outcome.error.startswith("unrecordable: no such")
    assert "\0" not in outcome.error
    assert outcome.reason == "unrecordable"
    assert (outcome.output, outcome.retry_at) == (None, None)
    assert (outcome.job, outcome.run, outcome.attempt, outcome.fence) == (33, a_run().run, 1, 17)


# --- text that every store can keep -------------------------------------------------------------

any_text = st.text(st.characters(), max_size=80)  # with NUL and lone surrogates


@settings(deadline=None)
@given(text=any_text, bytes_max=st.integers(20, 400))
@example("\0", 20)
@example("\ud800", 20)
@example("é" * 60, 21)
@example("\N{PILE OF POO}" * 30, 23)
def test_whatever_comes_in_can_be_stored(text, bytes_max):
    kept = storable(text, bytes_max)

    assert kept is not None
    assert "\0" not in kept
    assert kept.encode("utf-8").decode("utf-8") == kept
    assert storable(kept, 10_000) == kept


@settings(deadline=None)
@given(text=any_text, bytes_max=st.integers(20, 400))
@example("x" * 21, 20)
def test_stored_text_keeps_to_its_limit(text, bytes_max):
    kept = storable(text, bytes_max)

    assert kept is not None
    assert len(kept.encode("utf-8")) <= bytes_max


@settings(deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=80))
def test_ordinary_text_within_the_limit_is_kept_as_it_is(text):
    assert storable(text, len(text.encode())) == text


@settings(deadline=None)
@given(text=st.text(st.sampled_from("aé€\N{PILE OF POO}"), min_size=30), room=st.integers(0, 9))
def test_text_that_is_too_long_is_cut_at_a_character_and_says_so(text, room):
    kept = storable(text, MARK_BYTES + room)

    assert kept is not None
    assert kept.endswith(CUT_MARK)
    assert text.startswith(kept.removesuffix(CUT_MARK))


def test_no_text_stays_no_text():
    assert storable(None, 10) is None


def test_outputs_and_errors_are_made_storable_on_the_way():
    outcome = settled(Result(error="bad\0" + "e" * 10_000, output="\ud800" + "o" * 200_000))

    assert outcome.error is not None
    assert outcome.output is not None
    assert outcome.error.startswith("bad\N{REPLACEMENT CHARACTER}e")
    assert len(outcome.error.encode()) <= ERROR_BYTES_MAX + MARK_BYTES
    assert len(outcome.output.encode()) <= OUTPUT_BYTES_MAX + MARK_BYTES


# --- what a function asks for -------------------------------------------------------------------


def test_a_handler_may_choose_when_to_be_tried_again():
    outcome = settled(Result(error="busy", retry_after_us=90 * SECOND), jitter=0.5)

    assert outcome.retry_at == NOW + 90 * SECOND


def test_its_choice_makes_no_attempt_that_is_not_left():
    outcome = settled(Result(error="busy", retry_after_us=0), attempt=4)

    assert (outcome.retry_at, outcome.reason) == (None, "out of attempts")


def test_what_a_function_returns_may_be_longer_than_what_a_callback_answers():
    value = "x" * VALUE_BYTES_MAX
    execution = handling_of(Definition(name="n", handler="shop.bill"))
    outcome = settle(a_run(), execution, Result(output=value), started=STARTED, now=NOW, jitter=0.0)

    assert outcome.output == value
    assert len(settled(Result(output=value)).output or "") < len(value)
