"""What is said of one operation of the API, and the refusals that many share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import Struct


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """`answers`: what each status means and carries, `or_answer`: or this, if so asked.
    `problems`: those it may refuse with.
    """

    id: str
    method: str
    path: str
    tag: str
    summary: str
    description: str = ""
    parameters: tuple[str, ...] = ()
    body: type[Struct] | None = None
    body_required: bool = True
    example: Any = None
    answers: dict[int, tuple[str, type[Struct] | None]] = field(default_factory=dict)
    or_answer: type[Struct] | None = None
    problems: tuple[int, ...] = ()


READ: Final = (401, 404, 422, 503)
CHANGE: Final = (401, 403, 404, 409, 503, 507)
WRITE: Final = (400, 401, 403, 413, 422, 503, 507)
