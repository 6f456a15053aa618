"""Names that occur twice in a JSON object. Which of the two values counts differs from reader to
reader, so that nobody can say what was meant: they are refused.

The decoder keeps the last one and says nothing. Reading everything a second time would cost more
than the rest of the reading, so a cheap look comes first, which never misses one.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any, Final, Never

import msgspec

NAMES_MAX: Final = 64
"""With more, the cheap look, which goes through the text once for each of them, is not cheap."""


class Repeated(Exception):
    """This name occurs twice in one object."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def refuse_repeated(text: str, names: Collection[str]) -> None:
    """`names`: those of the object itself, as they were decoded. What is in it is not looked at."""
    suspicious = len(names) > NAMES_MAX or "\\" in text
    if suspicious or any(text.count(f'"{name}"') > 1 for name in names):
        _once(_TOP_LEVEL.decode(text.strip()))


def refuse_repeated_anywhere(text: bytes, value: object) -> None:
    """`text` is compact, `value` what was decoded from it."""
    if b"{" in text and msgspec.json.encode(value) != text:
        _EVERY_LEVEL.decode(text.decode())


def _once(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise Repeated(name)
        seen.add(name)


def _decoder(on_object: Any) -> json.JSONDecoder:
    """It looks at names only: a number of a thousand digits is no work."""
    return json.JSONDecoder(
        object_pairs_hook=on_object, parse_int=str, parse_float=str, parse_constant=_no_constant
    )


def _no_constant(name: str) -> Never:
    raise AssertionError(f"{name} is no JSON, and was refused before")


_TOP_LEVEL: Final = _decoder(list)
_EVERY_LEVEL: Final = _decoder(_once)
