"""Where callbacks may be sent, as far as the text of a URL can tell."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import ip_address
from typing import Final
from unicodedata import normalize
from urllib.parse import urlsplit

from onthedot.errors import Invalid

_HINT: Final = "Write it like 'https://example.com/hooks/report'."
# URL parsers disagree about backslashes, quotes and brackets: what one takes for a path, another
# takes for the host. Nothing good needs them unescaped.
_UNSAFE: Final = re.compile(r'[\s\x00-\x20\x7f-\x9f\\"<>^`{|}]')
_HOST: Final = re.compile(r"(?:[\w-]{1,63}\.)*[\w-]{1,63}\.?")
_HOST_MAX: Final = 253
_LABEL_MAX: Final = 63
_REMEMBERED_MAX: Final = 1_000
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)


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
    if "[" in parts.netloc:
        if "%25" in host:
            raise _bad(field, url, "has a zone with %25", "Write it as it is, like '%eth0'.")
    elif not _can_be_resolved(host):
        raise _bad(field, url, f"has a host {host[:60]!r} that no name server knows")
    elif _is_half_an_address(host):
        hint = "Write all four parts, each from 0 to 255, like 'http://127.0.0.1/'."
        raise _bad(field, url, f"has a host {host[:60]!r} that is not a whole IPv4 address", hint)
    if port == 0:
        raise _bad(field, url, "has port 0", "Use a port from 1 to 65535.")
    return url


@lru_cache(_REMEMBERED_MAX)  # many jobs call few hosts
def _can_be_resolved(host: str) -> bool:
    # In a query each label that is not ASCII is longer than it is here.
    sizes = [
        len(label) if label.isascii() else len(label.encode("punycode")) + len("xn--")
        for label in host.split(".")
    ]
    too_long = max(sizes) > _LABEL_MAX or sum(sizes) + len(sizes) - 1 > _HOST_MAX
    return not too_long and _HOST.fullmatch(host) is not None


@lru_cache(_REMEMBERED_MAX)
def _is_half_an_address(host: str) -> bool:
    """Whether the host ends in a number without being a plain IPv4 address. No name does; some
    programs take `127.1` or `0x7f000001` for an address, our own calls do not.
    """
    plain = normalize("NFKC", host).replace("\u3002", ".")
    if not _NUMBER.fullmatch(plain.removesuffix(".").rpartition(".")[2]):
        return False
    try:
        ip_address(plain)
    except ValueError:
        return True
    return False


def _bad(field: str, url: str, why: str, hint: str = _HINT) -> Invalid:
    shown = url if len(url) <= 80 else url[:80] + "…"
    return Invalid(f"{field} {shown!r} {why}", hint=hint, field=field)
