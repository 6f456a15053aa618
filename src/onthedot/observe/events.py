"""Logs are events: a fixed name and fields, one line a fact, on standard error.

`run.finished run=812 attempt=2 took_ms=41` can be read, grepped and counted; prose cannot.
"""

from __future__ import annotations

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
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    _logger.addHandler(handler)
    _logger.setLevel(level.upper())
    _logger.propagate = False


def _line(fields: dict[str, object]) -> str:
    return "".join(f" {name}={_value(value)}" for name, value in fields.items())


def _value(value: object) -> str:
    text = str(value)
    if text and not any(c.isspace() or c in '"=' for c in text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
