"""What a route declares of itself beside its handler. The OpenAPI document is made from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

from msgspec import Struct


@dataclass(frozen=True, slots=True)
class Parameter:
    """One that is no part of the path. `schema` is that of OpenAPI."""

    place: Literal["path", "query", "header"]
    name: str
    about: str
    schema: dict[str, Any] = field(default_factory=lambda: {"type": "string"})

    @property
    def key(self) -> str:
        """Under which the document has it: `Idempotency-Key` is `idempotencyKey`."""
        first, *rest = self.name.split("-")
        return first[0].lower() + first[1:] + "".join(rest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """`answers`: what each status means and carries, `or_answer`: or this, if so asked.
    `problems`: those it may refuse with. `prefix`: under which it is documented.
    """

    tag: str
    summary: str
    about: str = ""
    parameters: tuple[Parameter, ...] = ()
    body: type[Struct] | None = None
    body_required: bool = True
    example: Any = None
    answers: dict[int, tuple[str, type[Struct] | None]]
    or_answer: type[Struct] | None = None
    problems: tuple[int, ...] = ()
    prefix: str = "/v1"


READ: Final = (401, 404, 422, 503)
CHANGE: Final = (401, 403, 404, 409, 503, 507)
WRITE: Final = (400, 401, 403, 413, 422, 503, 507)

IN_PATH: Final = {
    "job": Parameter("path", "jobId", "The id of a job."),
    "run": Parameter("path", "runId", "The id of a run."),
    "backfill": Parameter("path", "backfillId", "The id of a backfill."),
    "name": Parameter("path", "name", "The name of a calendar."),
}
"""What stands in braces in the path of a route, as callers know it."""
