"""Where callbacks may be sent, as far as the text of a URL can tell."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from onthedot.errors import Invalid

_HINT: Final = "Write it like 'https://example.com/hooks/report'."
# URL parsers disagree about backslashes, quotes and brackets: what one takes for a path, another
# takes for the host. Nothing good needs them unescaped.
_UNSAFE: Final = re.compile(r'[\s\x00-\x20\x7f-\x9f\\"<>^`{|}]')
_HOST: Final = re.compile(r"(?:[\w-]{1,63}\.)*[\w-]{1,63}\.?")
_HOST_MAX: Final = 253


def checked_url(url: str, *, field: str) -> str:
    """The URL as given, if it is absolute, http or https, with a host and no credentials."""
    if found := _UNSAFE.search(url):
        raise _bad(field, url, f"contains {found.group()!r}", "Percent-encode it, or remove it.")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
        if "[" in parts.netloc:
            ip_address(host or "")
    except ValueError as error:
        raise _bad(field, url, f"is not a URL ({error})") from None
    if parts.scheme not in ("http", "https") or not url[len(parts.scheme) :].startswith("://"):
        raise _bad(field, url, "is not an absolute http or https URL")
    if not host:
        raise _bad(field, url, "has no host")
    if "@" in parts.netloc:
        # The URL itself is not repeated: it holds a password.
        raise Invalid(
            f"{field} has a user name or password in it",
            hint="Send credentials in the payload, or let the receiver know the caller by address.",
            field=field,
        )
    if "[" not in parts.netloc and (len(host) > _HOST_MAX or not _HOST.fullmatch(host)):
        raise _bad(field, url, f"has a host {host[:60]!r} that no name server knows")
    if port == 0:
        raise _bad(field, url, "has port 0", "Use a port from 1 to 65535.")
    return url


def _bad(field: str, url: str, why: str, hint: str = _HINT) -> Invalid:
    shown = url if len(url) <= 80 else url[:80] + "…"
    return Invalid(f"{field} {shown!r} {why}", hint=hint, field=field)
