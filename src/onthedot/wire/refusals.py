"""What a refusal means to whoever called: an answer that is no success becomes one of our errors.

The other side is api/problems.py, which makes the document from the error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from onthedot.errors import Conflict, Invalid, NotFound, OnthedotError, Refused

NOT_OURS: Final = "Is that an onthedot server? Name one with --server or ONTHEDOT_SERVER."

# How much is shown of an answer that is not ours: enough to recognise who gave it.
_BODY_SHOWN_MAX: Final = 200
_STATUSES: Final[dict[int, type[OnthedotError]]] = {
    400: Invalid,
    404: NotFound,
    409: Conflict,
    413: Invalid,
    422: Invalid,
}


def words_of(kind: type[OnthedotError]) -> str:
    """The name of an error as people say it: `KeyTaken` is "Key taken"."""
    return re.sub(r"(?<!^)(?=[A-Z])", " ", kind.__name__).capitalize()


def problem_type(words: str) -> str:
    """The `type` of a problem document."""
    return f"urn:onthedot:problem:{words.lower().replace(' ', '-')}"


def refusal(server: str, status: int, text: bytes) -> OnthedotError:
    """A problem document (RFC 9457) as the error it was made from; anything else is shown as it
    came, shortened.
    """
    problem = _document(text)
    detail = problem.get("detail") or problem.get("title")
    hint = str(problem.get("hint") or "")
    if status in (401, 403) and not hint:
        hint = "Set ONTHEDOT_API_KEY to the server's key."
    if detail:
        kind = _kinds().get(str(problem.get("type"))) or _STATUSES.get(status, OnthedotError)
        return kind(str(detail), hint=hint, field=problem.get("field"))
    look = text[:_BODY_SHOWN_MAX].decode("utf-8", "replace").strip()
    return OnthedotError(
        f"{server} answered HTTP {status}" + (f": {look}" if look else ""),
        hint=hint or NOT_OURS,
    )


def _document(text: bytes) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


@cache
def _kinds() -> dict[str, type[OnthedotError]]:
    """What the caller asked for wrongly has a name of its own; the server's troubles do not."""
    return {problem_type(words_of(kind)): kind for kind in _below(Refused)}


def _below(kind: type[OnthedotError]) -> Iterator[type[OnthedotError]]:
    yield kind
    for each in kind.__subclasses__():
        yield from _below(each)
