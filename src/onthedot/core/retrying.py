"""When a failed attempt is tried again."""

from __future__ import annotations

from onthedot.core.model import Backoff


def backoff_us(backoff: Backoff, *, attempt: int, jitter: float) -> int:
    """The wait after the failed `attempt`. `jitter` in [0, 1) moves it over the upper half of the
    delay.

    Never under half of it: a retry that comes at once helps nobody. The power is bounded before it
    is taken, since a thousand retries would overflow a float.
    """
    assert attempt >= 1 and 0 <= jitter < 1, (attempt, jitter)
    delay = float(backoff.initial_us)
    for _ in range(attempt - 1):
        delay *= backoff.factor
        if delay >= backoff.max_us:
            break
    delay = min(delay, backoff.max_us)
    return round(delay / 2 + delay / 2 * jitter)


def attempts_left(retries: int, attempt: int) -> bool:
    """`retries` are extra attempts after the first. A rescue is no attempt and never counted
    here.
    """
    return attempt <= retries
