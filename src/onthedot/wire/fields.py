"""What is said of a field on the wire: its limits, what it means and what it expects."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final

from msgspec import Meta

PAYLOAD_BYTES_MAX: Final = 64 * 1024


def about(description: str, expects: str, **more: Any) -> Meta:
    """A field's documentation and limits. `expects` completes "timeout must be …, not …".

    `pattern` must match the whole text (every text of a list). `hint` is the next step after a
    refusal. `later` is that hint for text that this version does not understand yet. The rest
    goes to msgspec as it is.
    """
    extra: dict[str, Any] = {
        "expects": expects,
        "hint": more.pop("hint", ""),
        "later": more.pop("later", ""),
    }
    schema = {"default": more.pop("default")} if "default" in more else {}
    pattern = more.pop("pattern", None)
    if pattern is not None:
        # Not msgspec's own `pattern`: its `$` also matches before a final line break.
        extra["pattern"] = re.compile(pattern)
        # On a list the pattern belongs to the elements, which declare it themselves.
        schema |= {} if more.pop("of_elements", False) else {"pattern": f"^{pattern}$"}
    return Meta(description=description, extra=extra, extra_json_schema=schema or None, **more)


InstantText = Annotated[
    str,
    Meta(
        description="RFC 3339, UTC.",
        examples=["2027-01-31T09:30:00Z"],
        extra_json_schema={"format": "date-time"},
    ),
]
Version = Annotated[
    int,
    about(
        "The version you have seen: the edit is refused (409) if there is a newer one.",
        "an integer from 1",
        ge=1,
        le=2**63 - 1,
    ),
]
