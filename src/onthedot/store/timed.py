"""A store whose calls are counted and timed, verb by verb."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

from onthedot.clock import Clock
from onthedot.errors import Refused, Taken
from onthedot.observe.tally import Tally
from onthedot.store.contract import Store

NOUNS = (
    *("clock", "jobs", "runs", "dead_letters", "outbox", "notes", "nodes", "ledger"),
    *("audit", "backfills", "calendars", "zones", "upkeep"),
)


def timed(store: Store, tally: Tally, clock: Clock) -> Store:
    """The same store. A call costs a microsecond more; one call serves up to thousands of runs."""
    return cast("Store", _Timed(store, tally, clock))


class _Timed:
    def __init__(self, store: Store, tally: Tally, clock: Clock) -> None:
        for noun in NOUNS:
            setattr(self, noun, _Verbs(noun, getattr(store, noun), tally, clock))


class _Verbs:
    def __init__(self, noun: str, verbs: object, tally: Tally, clock: Clock) -> None:
        self._noun = noun
        self._verbs = verbs
        self._tally = tally
        self._clock = clock

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        """Made when first asked for, and kept: from then on it is an attribute like any other."""
        verb = getattr(self._verbs, name)
        label, tally, clock = f"{self._noun}.{name}", self._tally, self._clock

        async def call(*args: Any, **kwargs: Any) -> Any:
            began = clock.monotonic()
            try:
                return await verb(*args, **kwargs)
            except (Refused, Taken):
                raise  # an answer like any other
            except Exception:
                tally.failed_calls[label] += 1
                raise
            finally:
                tally.calls[label] += 1
                tally.call_seconds[label] += clock.monotonic() - began

        setattr(self, name, call)
        return call
