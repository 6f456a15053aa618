"""Calling a function for a run, and what that comes to. Whoever calls users' functions, a runner
process or a node within a program, does it here, so that a function behaves the same everywhere.
"""

from __future__ import annotations

import asyncio
import contextvars
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from onthedot.core.outcomes import ERROR_BYTES_MAX, VALUE_BYTES_MAX
from onthedot.errors import OnthedotError
from onthedot.sdk.app import Function
from onthedot.sdk.context import Context, Fail, Retry
from onthedot.sdk.printing import SPEAKER

_OURS = str(Path(__file__).parent.parent)
_POOL = str(Path("concurrent") / "futures" / "thread.py")
_MESSAGE_MAX = ERROR_BYTES_MAX // 4
_FRAMES_MAX = 30
_GAP = "\n  …\n"


class CallResult(NamedTuple):
    """What a call came to; `error` None: it succeeded. `retry_after_us`: the delay that the
    function asks for, in place of the job's backoff.
    """

    error: str | None = None
    output: str | None = None
    retryable: bool = True
    retry_after_us: int | None = None


NOTHING = CallResult()


async def call(function: Function[Any, Any], payload: str, context: Context) -> CallResult:
    """Call it: a coroutine on this loop, a function in a thread of the loop's executor. Whatever it
    raises is an answer; only a cancellation is passed on. What it says is in the context's notes,
    all of it once this has returned.
    """
    try:
        bound = function.bound(payload, context)
    except OnthedotError as error:
        return CallResult(error=str(error), retryable=False)
    speaker = SPEAKER.set(context.notes)
    try:
        result = await (bound() if function.is_coroutine else _outcome_in_thread(bound))
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001  (sys.exit() in a function ends the run, not its runner)
        return raised(error)
    finally:
        SPEAKER.reset(speaker)
        context.notes.close()
    return returned(result)


async def _outcome_in_thread(bound: Callable[[], Any]) -> Any:
    inherited = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(None, inherited.run, _in_thread, bound)


def _in_thread(bound: Callable[[], Any]) -> Any:
    """A future cannot carry StopIteration, and would carry SystemExit out of the loop; and whoever
    is thrown GeneratorExit may not wait for anything.
    """
    try:
        return bound()
    except (StopIteration, SystemExit, KeyboardInterrupt, GeneratorExit) as error:
        raise _Carried(error) from None


class _Carried(Exception):
    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


def returned(result: Any) -> CallResult:
    """A result is kept whole or not at all: half a JSON text is of no use to anybody, and another
    attempt would return the same.
    """
    if result is None:
        return NOTHING
    try:
        text = msgspec.json.encode(result)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        what = f"the function ended, but its result cannot be kept as JSON: {error}"
        return CallResult(error=what, retryable=False)
    if len(text) > VALUE_BYTES_MAX:
        what = (
            f"the function ended, but its result is too long: {len(text):,} bytes of JSON, and "
            f"{VALUE_BYTES_MAX:,} can be kept; store it elsewhere and return where it is"
        )
        return CallResult(error=what, retryable=False)
    return CallResult(output=text.decode())


def raised(error: BaseException) -> CallResult:
    if isinstance(error, _Carried):
        error = error.error
    if isinstance(error, Fail):
        return CallResult(error=_message(error), retryable=False)
    if isinstance(error, Retry):
        return CallResult(error=_message(error), retry_after_us=error.after_us)
    return CallResult(error=in_words(error))


def in_words(error: BaseException) -> str:
    """Type and message on the first line, then the traceback as far as it is the user's. One that
    is too long loses its middle: it is the end that people look for.
    """
    head = _cut(f"{type(error).__name__}: {_message(error)}".rstrip(": "), _MESSAGE_MAX)
    told = traceback.TracebackException.from_exception(error, limit=-_FRAMES_MAX)
    _leave_out_ours(told)
    trace = storable("".join(told.format(chain=True)).rstrip())
    room = ERROR_BYTES_MAX - len(head.encode()) - 1
    raw = trace.encode()
    if len(raw) > room:
        kept = room - len(_GAP.encode())
        first, last = raw[: kept // 4], raw[-(kept - kept // 4) :]
        trace = first.decode("utf-8", "ignore") + _GAP + last.decode("utf-8", "ignore")
    return f"{head}\n{trace}"


def _message(error: BaseException) -> str:
    try:
        return storable(str(error))
    except Exception:  # noqa: BLE001  (a class of the user's may fail to say what it is)
        return "(it cannot say what it is)"


def _cut(text: str, most: int) -> str:
    return text if len(text.encode()) <= most else text[: most // 4] + " …"


def storable(text: str) -> str:
    """With lone surrogates, such as Python has for odd bytes in the names of files, escaped: UTF-8
    cannot have them.
    """
    return text.encode("utf-8", "backslashreplace").decode()


def _leave_out_ours(told: traceback.TracebackException) -> None:
    """How a function was called is our business; nobody mends his code by it."""
    for each in (told, told.__cause__, told.__context__):
        if each is not None:
            theirs = next((n for n, at in enumerate(each.stack) if not _is_ours(at)), None)
            del each.stack[: len(each.stack) if theirs is None else theirs]


def _is_ours(frame: traceback.FrameSummary) -> bool:
    return frame.filename.startswith(_OURS) or frame.filename.endswith(_POOL)
