"""What may be printed: text without the passwords and the secret parts of URLs in it.

Everything that leaves the process for people, a log or a terminal, goes through here. It errs on
the safe side: of a URL that is not well formed it hides more than the password.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final

HIDDEN: Final = "***"
_HASH_DIGITS: Final = 8

# A password may hold a raw '/', '?' or '@': all up to the last '@' of the word is hidden.
_USER_INFO: Final = re.compile(r"(?P<kept>[a-z][a-z0-9+.-]*:/+[^\s:@/]*):\S*@", re.IGNORECASE)
_SCHEME: Final = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:?/+)?", re.IGNORECASE)
_PARAMETER: Final = re.compile(
    r"(?P<kept>(?:password|passwd|pwd|secret|token|api[_-]?key)\s*=\s*)('[^']*'|[^\s&'\"]+)",
    re.IGNORECASE,
)
_WEB_ADDRESS: Final = re.compile(r"(?P<origin>https?://[^\s/?#'\"]+)[/?#][^\s'\"]+", re.IGNORECASE)


def without_passwords(text: str) -> str:
    """For people: credentials in URLs and in connection strings are hidden."""
    shown = _USER_INFO.sub(rf"\g<kept>:{HIDDEN}@", text)
    return _PARAMETER.sub(rf"\g<kept>{HIDDEN}", shown)


def address_without_password(value: str) -> str:
    """One value that is the address of a database, or was meant to be: its scheme may be mistyped
    or missing, and its password may hold any character.
    """
    if value.startswith("sqlite:"):  # a path, which may hold an '@'
        return value
    before, at, rest = value.rpartition("@")
    if at:
        scheme = _SCHEME.match(before)
        start = scheme.end() if scheme else 0
        user = re.split("[:/@]", before[start:], maxsplit=1)[0]
        hidden = f":{HIDDEN}" if len(user) < len(before) - start else ""
        value = f"{before[:start]}{user}{hidden}@{rest}"
    return without_passwords(value)


def for_logs(text: str) -> str:
    """For logs, which more people read: of web addresses only scheme, host and port are kept,
    since the rest of a webhook's is often its secret. The hash tells one from another.
    """
    return _WEB_ADDRESS.sub(_hashed, without_passwords(text))


def _hashed(found: re.Match[str]) -> str:
    digest = sha256(found[0].encode("utf-8", "replace")).hexdigest()
    return f"{found['origin']}/…{digest[:_HASH_DIGITS]}"
