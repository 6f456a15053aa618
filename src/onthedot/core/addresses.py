"""The address of a PostgreSQL: which hosts it names, and what is wrong with it."""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

PORT: Final = 5432
FORM: Final = "postgresql://user@host:5432/name, or with several hosts: user@a:5432,b:5432/name."
TARGETS: Final = ("any", "primary", "standby", "prefer-standby", "read-write", "read-only")
SSL_MODES: Final = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_CHOICES: Final = {"target_session_attrs": TARGETS, "sslmode": SSL_MODES}
_HOST: Final = re.compile(
    r"\[(?P<v6>[0-9a-fA-F:.%]+)\](?::(?P<v6_port>.*))?|(?P<name>[^:\[\]]*)(?::(?P<port>[^:]*))?"
)
FILES: Final = ("sslcert", "sslkey", "sslrootcert", "sslcrl", "passfile")
"""Options that name a file."""


class Address(NamedTuple):
    """A host and a port; a host that begins with a slash is the folder of a socket."""

    host: str
    port: int


class BadUrl(ValueError):
    """What is wrong with it. It never repeats a part that may be a password."""

    def __init__(self, why: str, hint: str) -> None:
        super().__init__(why)
        self.why = why
        self.hint = hint


def addresses(url: str) -> tuple[Address, ...]:
    """Every host that the URL names, in its order; none: whatever the driver takes by default."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise BadUrl("has brackets or characters that a host cannot have", f"Use {FORM}") from None
    _check_signs(parts)
    query = _query(parts.query)
    hosts = parts.netloc.rpartition("@")[2]
    ports = [_port(port) for port in query["port"].split(",")] if query.get("port") else []
    if hosts:
        found = [_address(part) for part in hosts.split(",")]
    elif query.get("host"):
        found = [_address(part) for part in query["host"].split(",")]
    else:
        return ()
    if len(ports) > 1 and len(ports) != len(found):
        raise BadUrl(
            f"names {len(ports)} ports for {len(found)} hosts", "Give one for each, or one for all."
        )
    given = ports * len(found) if len(ports) == 1 else ports or [PORT] * len(found)
    return tuple(
        Address(host, port or other) for (host, port), other in zip(found, given, strict=True)
    )


def files(url: str) -> dict[str, str]:
    """The files that a URL names, by option."""
    named = _query(urlsplit(url).query)
    return {option: named[option] for option in FILES if option in named}


def _check_signs(parts: SplitResult) -> None:
    """Signs that mean something in a URL, where only a password can have brought them. What is
    around them is not repeated.
    """
    hint = "In user and password write %40 for @, %2F for /, %3F for ? and %23 for #."
    if parts.netloc.count("@") > 1:
        raise BadUrl("has more than one '@' before the host", hint)
    if "@" not in parts.netloc and "@" in parts.path + parts.query + parts.fragment:
        raise BadUrl("has a '/', '?' or '#' before the '@'", hint)
    if parts.fragment:
        raise BadUrl("has a '#' in it", hint)


def _query(text: str) -> dict[str, str]:
    try:
        found = dict(parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text)))
    except ValueError:
        raise BadUrl(
            "has something after the '?' that is not name=value", "Separate options by '&'."
        ) from None
    for name, choices in _CHOICES.items():
        if name in found and found[name] not in choices:
            raise BadUrl(
                f"has the {name} '{found[name][:40]}'", f"Use one of {', '.join(choices)}."
            )
    return found


def _address(text: str) -> tuple[str, int | None]:
    text = unquote(text)
    if text.startswith("/"):
        return text, None
    match = _HOST.fullmatch(text)
    if match is None:
        raise BadUrl(
            f"has the host '{text[:80]}'", f"An IPv6 address has brackets, as [::1]. Use {FORM}"
        )
    host = match["v6"] or match["name"]
    port = match["port"] if match["v6_port"] is None else match["v6_port"]
    if not host:
        raise BadUrl("has an empty host in its list", f"Use {FORM}")
    return host, _port(port) if port is not None else None


def _port(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= 65_535:
        return int(text)
    raise BadUrl(f"has the port '{text[:40]}'", "A port is a number from 1 to 65535.")
