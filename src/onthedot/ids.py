"""Public ids, and chance, injected.

A job's id is its number; a run's id is `installation-job-run`, all in hexadecimal, so that SQL can
print the same ids as the API. The run id is also the idempotency key of callbacks, so it never
changes, and no number is given out twice: those given out after a backup was restored have another
epoch in them. The installation is random; a copy that lives on beside its original gets another.
"""

from __future__ import annotations

import random
import secrets
from typing import NamedTuple, Protocol

from onthedot.errors import NotFound

NUMBER_MAX = 2**63 - 1


class Chance(Protocol):
    def jitter(self) -> float:
        """A number in [0, 1)."""
        ...

    def token(self, size: int) -> str:
        """`size` random bytes, in hexadecimal."""
        ...


class SystemChance:
    def jitter(self) -> float:
        return random.random()

    def token(self, size: int) -> str:
        return secrets.token_hex(size)


class RunId(NamedTuple):
    job: int
    run: int


def job_id(job: int) -> str:
    return f"job-{job:x}"


def run_id(installation: str, job: int, run: int) -> str:
    return f"{installation}-{job:x}-{run:x}"


def parse_job_id(text: str) -> int:
    prefix, _, number = text.partition("-")
    parsed = _number(number)
    if prefix != "job" or parsed is None or job_id(parsed) != text:
        raise NotFound(
            f"there is no job '{shown(text)}'",
            hint="Job ids look like 'job-1f'; GET /v1/jobs lists them.",
        )
    return parsed


def parse_run_id(text: str, installation: str) -> RunId:
    home, _, rest = text.partition("-")
    job, run = (_number(part) for part in rest.partition("-")[::2])
    if home != installation or job is None or run is None or run_id(home, job, run) != text:
        raise NotFound(
            f"there is no run '{shown(text)}'",
            hint="Run ids come from the trigger's answer or from GET /v1/jobs/{jobId}/runs.",
        )
    return RunId(job, run)


def shown(text: str) -> str:
    """A value of unknown origin, fit for an error message."""
    return text if len(text) <= 60 else text[:60] + "…"


def _number(digits: str) -> int | None:
    if not 1 <= len(digits) <= 16 or not all(c in "0123456789abcdef" for c in digits):
        return None
    number = int(digits, 16)
    return number if number <= NUMBER_MAX else None
