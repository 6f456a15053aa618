"""Reading what a request says besides its body's fields: pages, idempotency keys, versions."""

from __future__ import annotations

import hashlib
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Final

from onthedot.api.http import Request
from onthedot.api.operation import Parameter
from onthedot.core.model import Job
from onthedot.errors import Invalid
from onthedot.ids import NUMBER_MAX, shown
from onthedot.store.values import Receipt

LIMIT_DEFAULT: Final = 50
LIMIT_MAX: Final = 1000
KEY_MAX: Final = 255
PAGE_BYTES_MAX: Final = 2 * 1024 * 1024

LIMIT: Final = Parameter(
    "query",
    "limit",
    "How many at most.",
    {"type": "integer", "minimum": 1, "maximum": LIMIT_MAX, "default": LIMIT_DEFAULT},
)
CURSOR: Final = Parameter(
    "query",
    "cursor",
    "The `nextCursor` of the page before.",
    {"type": "string", "minLength": 1},
)
AFTER: Final = Parameter(
    "query", "after", "The `next` of the answer before.", {"type": "string", "minLength": 1}
)
KEY: Final = Parameter(
    "query", "key", "Only the job with this key.", {"type": "string", "minLength": 1}
)
DECLARED: Final = Parameter(
    "query",
    "declared",
    "`gone`: only jobs that the code of their app declares no longer, 1000 at most.",
    {"type": "string", "enum": ["gone"]},
)
DRY_RUN: Final = Parameter(
    "query",
    "dryRun",
    "With `true` nothing is written: the answer tells what the edit would do.",
    {"type": "boolean", "default": False},
)
IDEMPOTENCY_KEY: Final = Parameter(
    "header",
    "Idempotency-Key",
    "A repeat of the same request with the same key gets the same answer for 24 hours.",
    {"type": "string", "minLength": 1, "maxLength": KEY_MAX},
)
IF_MATCH: Final = Parameter(
    "header",
    "If-Match",
    "The `ETag` that you have seen: refused with 409 if there is a newer version.",
    {"type": "string", "examples": ['"3"']},
)

_DIGITS: Final = re.compile(r"[0-9a-f]{1,16}")
_ETAG: Final = re.compile(r'"?([1-9][0-9]{0,17})"?')


def limit_of(request: Request) -> int:
    text = _parameter(request, "limit")
    if text is None:
        return LIMIT_DEFAULT
    if re.fullmatch(r"[0-9]{1,4}", text) and 1 <= int(text) <= LIMIT_MAX:
        return int(text)
    raise Invalid(
        f"limit {shown(text)!r} is not an integer from 1 to {LIMIT_MAX}",
        hint=f"Leave it out for {LIMIT_DEFAULT}, and follow nextCursor for more.",
        field="limit",
    )


def fitting(sizes: Iterable[int]) -> int:
    """How many of so large things fit into one answer, at least one: the rest comes with the next
    page. Whatever is sent at one go keeps the loop busy for as long as it is.
    """
    total = 0
    for number, size in enumerate(sizes):
        total += size
        if total > PAGE_BYTES_MAX:
            return max(1, number)
    return LIMIT_MAX


def cursor_of(request: Request, place: str) -> int | None:
    """The number to go on under; None on the first page. `place` is the list it belongs to."""
    numbers = cursor_numbers(request, place, 1)
    return None if numbers is None else numbers[0]


def cursor_numbers(
    request: Request, place: str, count: int, name: str = "cursor"
) -> list[int] | None:
    """The same for a list whose order takes several numbers."""
    text = _parameter(request, name)
    if text is None:
        return None
    try:
        padded = text.encode("ascii") + b"=" * (-len(text) % 4)
        digits = urlsafe_b64decode(padded).decode("ascii").removeprefix(f"{place}.").split(".")
    except (NotBase64, ValueError):
        digits = []
    if len(digits) == count and all(_DIGITS.fullmatch(each) for each in digits):
        numbers = [int(each, 16) for each in digits]
        # Encoding it again also refuses what base64 decoders let pass, such as stray characters.
        if max(numbers) <= NUMBER_MAX and cursor_text(place, *numbers) == text:
            return numbers
    raise Invalid(
        f"{name} {shown(text)!r} does not belong to this list",
        hint="Give what the answer before said, as it was, or leave it out to begin again.",
        field=name,
    )


def cursor_text(place: str, *numbers: int) -> str:
    parts = ".".join([place, *(f"{number:x}" for number in numbers)])
    return urlsafe_b64encode(parts.encode()).rstrip(b"=").decode()


def name_after(request: Request, place: str) -> str:
    """The name to go on after, in a list that is ordered by names; empty on the first page."""
    text = _parameter(request, "cursor")
    if text is None:
        return ""
    try:
        padded = text.encode("ascii") + b"=" * (-len(text) % 4)
        found, _, name = urlsafe_b64decode(padded).decode("ascii").partition(".")
    except (NotBase64, ValueError):
        found, name = "", ""
    if found != place or not name or name_cursor(place, name) != text:
        raise Invalid(
            f"cursor {shown(text)!r} does not belong to this list",
            hint="Give what the answer before said, as it was, or leave it out to begin again.",
            field="cursor",
        )
    return name


def name_cursor(place: str, name: str) -> str:
    return urlsafe_b64encode(f"{place}.{name}".encode()).rstrip(b"=").decode()


def receipt_of(
    request: Request, body: bytes, answer: Callable[[Job, Sequence[int]], str]
) -> Receipt | None:
    """The caller's Idempotency-Key, bound to this very request."""
    keys = request.headers("idempotency-key")
    if not keys:
        return None
    key = keys[0]
    if len(keys) > 1 or not 1 <= len(key) <= KEY_MAX or not (key.isascii() and key.isprintable()):
        raise Invalid(
            f"Idempotency-Key {shown(', '.join(keys))!r} is not 1-{KEY_MAX} printable characters",
            hint="Send one key per request, such as a UUID.",
            field="Idempotency-Key",
        )
    path = request.path.removeprefix("/v1").rstrip("/")
    request_text = f"{request.method} {path}\n".encode() + body
    return Receipt(key, hashlib.sha256(request_text).hexdigest(), answer)


def expected_version(request: Request, in_body: int | None = None) -> int | None:
    """The version that the caller has seen, from If-Match or from the body."""
    text = request.header("if-match")
    if text is None or text.strip() == "*":
        return in_body
    match = _ETAG.fullmatch(text.strip())
    if match is None or (in_body is not None and int(match[1]) != in_body):
        raise Invalid(
            f"If-Match {shown(text)!r} is not one version",
            hint='Send the ETag that you were given, such as "3", and no other one in the body.',
            field="If-Match",
        )
    return int(match[1])


def key_of(request: Request) -> str | None:
    """The job key that a list is restricted to."""
    return _parameter(request, "key")


def is_dry_run(request: Request) -> bool:
    """Whether only to tell what an edit would do."""
    text = _parameter(request, "dryRun")
    if text not in (None, "true", "false"):
        raise Invalid(
            f"dryRun {shown(text)!r} is not true or false",
            hint="Leave it out to edit the job.",
            field="dryRun",
        )
    return text == "true"


def is_asked_for_gone(request: Request) -> bool:
    """Whether a list is restricted to jobs that code declares no longer."""
    text = _parameter(request, "declared")
    if text not in (None, "gone"):
        raise Invalid(
            f"declared {shown(str(text))!r} is not 'gone'",
            hint="Use declared=gone for jobs that code declares no longer, or leave it out.",
            field="declared",
        )
    return text is not None


def _parameter(request: Request, name: str) -> str | None:
    """One query parameter. Those that the route does not declare are refused: a filter that is
    ignored answers wrongly.
    """
    query, known = request.query, request.parameters
    assert name in known, (name, known)
    for given, _ in query:
        if given not in known:
            near = get_close_matches(given, known, n=1)
            raise Invalid(
                f"query parameter {shown(given)!r} is not known",
                hint=f"Did you mean {near[0]}?" if near else f"Known: {', '.join(known)}.",
                field=shown(given),
            )
    values = [value for given, value in query if given == name]
    if len(values) > 1:
        raise Invalid(f"{name} is given {len(values)} times", hint="Give it once.", field=name)
    return values[0] if values else None
