"""From what a handler answered to what is written about the attempt."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from onthedot.core.durations import format_duration
from onthedot.core.instants import Instant
from onthedot.core.model import ExecutionSpec, LeasedRun, Outcome
from onthedot.core.node_faults import NodeFault
from onthedot.core.retrying import attempts_left, backoff_us
from onthedot.core.states import Status

OUTPUT_BYTES_MAX = 64 * 1024
"""Of what a callback answers. The rest is not even read."""

VALUE_BYTES_MAX = 256 * 1024
"""Of what a function returns. A longer one fails the attempt: half a value is none."""

ERROR_BYTES_MAX = 4_000
CUT_MARK = " … [cut]"

# The receiver was not ready or too busy: the same request may well succeed later.
RETRYABLE = frozenset({408, 425, 429})


@dataclass(frozen=True, slots=True)
class Result:
    """How one attempt ended, before policy has its say. `error` None means it succeeded.
    `retry_after_us` is the handler's own cancel_request, in the place of the backoff.
    `unknown`: it began, and nobody can say how it ended. `fault`: the node could not make the call;
    `unsent`: and nothing has left it.
    """

    error: str | None = None
    output: str | None = None
    retryable: bool = True
    retry_after_us: int | None = None
    unknown: bool = False
    fault: NodeFault | None = None
    unsent: bool = False


def http_result(status: int, output: str, *, broken: str = "") -> Result:
    """2xx succeeds; 408, 425, 429 and 5xx may succeed later; every other answer will stay as
    it is. `broken`: why the answer could not be read to its end. Then the receiver may have died
    over it, and its 2xx promises nothing.
    """
    if 200 <= status < 300:
        return Result(error=broken or None, output=output)
    words = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else ""
    error = f"HTTP {status} {words}".rstrip()
    if 300 <= status < 400:
        error += " (redirects are not followed)"
    return Result(error=error, output=output, retryable=status in RETRYABLE or 500 <= status < 600)


def timed_out(timeout_us: int, *, waiting: bool = False, apart: bool = False) -> Result:
    """`waiting`: for a runner process, and was not called meanwhile. `apart`: it had to be killed,
    and not for the first time.
    """
    error = f"timed out after {format_duration(timeout_us)}"
    if waiting:
        error += " of waiting for a runner"
    if apart:
        error += " and had to be killed, as before: its function runs alone until it ends by itself"
    return Result(error=error)


def settle(
    run: LeasedRun,
    execution: ExecutionSpec,
    result: Result,
    *,
    started: Instant,
    now: Instant,
    jitter: float,
) -> Outcome:
    """What is written about an attempt: its end, and whether another follows."""
    fixed = (run.job, run.run, run.attempt, run.fence)
    output = storable(result.output, VALUE_BYTES_MAX if execution.handler else OUTPUT_BYTES_MAX)
    if result.error is None:
        return Outcome(*fixed, Status.SUCCEEDED, started, now, None, output)
    error = storable(result.error, ERROR_BYTES_MAX)
    if result.unknown and run.at_most_once:
        return Outcome(*fixed, Status.LOST, started, now, error, output, "outcome unknown")
    if result.retryable and attempts_left(execution.retries, run.attempt):
        wait = result.retry_after_us
        if wait is None:
            wait = backoff_us(execution.backoff, attempt=run.attempt, jitter=jitter)
        return Outcome(*fixed, Status.FAILED, started, now, error, output, None, now + wait)
    reason = "out of attempts" if result.retryable else "not retryable"
    return Outcome(*fixed, Status.FAILED, started, now, error, output, reason)


def end_by_request(
    run: LeasedRun, cancel_request: str, *, started: Instant | None, now: Instant
) -> Outcome:
    """The end of a run that somebody cancelled; `started` None if it never began."""
    fixed = (run.job, run.run, run.attempt, run.fence)
    return Outcome(*fixed, Status.CANCELLED, started, now, None, None, cancel_request)


def unrecordable(outcome: Outcome, why: str) -> Outcome:
    """What is written instead of an outcome that the store cannot take, so that the run
    still ends.
    """
    return outcome._replace(
        status=Status.FAILED,
        error=storable(f"unrecordable: {why}", ERROR_BYTES_MAX),
        output=None,
        reason="unrecordable",
        retry_at=None,
    )


def storable(text: str | None, bytes_max: int) -> str | None:
    """Text that every store can keep: no NUL, no half characters, at most `bytes_max` bytes of
    UTF-8.
    """
    if text is None:
        return None
    raw = text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace")
    if len(raw) <= bytes_max:
        return raw.decode("utf-8")
    kept = bytes_max - len(CUT_MARK.encode())
    return raw[:kept].decode("utf-8", "ignore") + CUT_MARK
