"""Logs are events: a fixed name and fields, one line a fact, on standard error.

`run.finished run=812 attempt=2 took_ms=41` can be read, grepped and counted; prose cannot.
"""

from __future__ import annotations

import json
import logging
import sys

_logger = logging.getLogger("onthedot")


def log(event: str, /, **fields: object) -> None:
    _logger.info("%s%s", event, _line(fields))


def warn(event: str, /, **fields: object) -> None:
    _logger.warning("%s%s", event, _line(fields))


def to_stderr(level: str = "info") -> None:
    """Send events to standard error, for the server. A program that embeds us keeps its own
    handlers.
    """
    for old in list(_logger.handlers):
        _logger.removeHandler(old)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    _logger.addHandler(handler)
    _logger.setLevel(level.upper())
    _logger.propagate = False


def _line(fields: dict[str, object]) -> str:
    return "".join(f" {name}={_value(value)}" for name, value in fields.items())


def _value(value: object) -> str:
    """Quoted where needed. Nothing that a value holds can begin a new line or move the cursor."""
    text = str(value)
    if text and text.isprintable() and not any(c in ' "=\\' for c in text):
        return text
    return json.dumps(text) if not text.isprintable() else json.dumps(text, ensure_ascii=False)
