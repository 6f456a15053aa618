"""Each reads one value of a setting, from text or from TOML, or says what is wrong with it."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from contextlib import suppress
from difflib import get_close_matches
from typing import Any, Final
from urllib.parse import urlsplit

from onthedot.core.addresses import BadUrl, addresses
from onthedot.core.durations import parse_duration

ROLES: Final = ("api", "scheduler", "worker", "janitor")
LOG_LEVELS: Final = ("debug", "info", "warning", "error")
POSTGRES: Final = ("postgresql://", "postgres://")
_SHOWN_MAX: Final = 80
_KEY_MIN: Final = 20
_SECRET_MIN: Final = 16
_SECRETS_MAX: Final = 2


class InvalidValue(ValueError):
    """Why a value cannot be taken. The reader knows that; where it came from, only `load` does."""

    def __init__(self, why: str, hint: str) -> None:
        super().__init__(why)
        self.why = why
        self.hint = hint


def text(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidValue(f"is a {type(value).__name__}, not text", "Put it in quotes.")
    if not value or value != value.strip() or not value.isprintable():
        raise InvalidValue(
            "is empty or has blanks around it", "Give a value, or leave the setting out."
        )
    return value


def whole_number(low: int, high: int) -> Callable[[object], int]:
    def read(value: object) -> int:
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise InvalidValue(f"is not an integer from {low} to {high}", f"Use {low} to {high}.")
        return value

    return read


def duration(name: str) -> Callable[[object], int]:
    def read(value: object) -> int:
        if isinstance(value, str):
            # The environment and flags know only text: there, 90 is a number too.
            with suppress(ValueError):
                value = float(value)
        return parse_duration(value, field=name)

    return read


def names(value: object) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise InvalidValue(
            "is not a list of names", "Separate names by commas, as in 'mail,reports'."
        )
    return tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))


def roles(value: object) -> tuple[str, ...]:
    named = names(value)
    for name in named:
        if name not in ROLES:
            raise InvalidValue(
                f"has an unknown role '{short(name)}'",
                did_you_mean(name, ROLES) or f"The roles are {', '.join(ROLES)}.",
            )
    if not named:
        raise InvalidValue(
            "names no role", f"Use some of {', '.join(ROLES)}, or leave it out for all."
        )
    return tuple(role for role in ROLES if role in named)


def log_level(value: object) -> str:
    if not isinstance(value, str) or value.lower() not in LOG_LEVELS:
        raise InvalidValue("is not a log level", f"Use one of {', '.join(LOG_LEVELS)}.")
    return value.lower()


def yes_or_no(value: object) -> bool:
    words = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in words:
        return words[value.lower()]
    raise InvalidValue("is neither yes nor no", "Use yes or no.")


def notify(value: object) -> Any:
    is_address = isinstance(value, str) and value.startswith(POSTGRES)
    return postgres(value) if is_address else yes_or_no(value)


def database(value: object) -> str:
    url = text(value)
    if url.startswith(POSTGRES):
        return postgres(url)
    path = url.removeprefix("sqlite:///")
    if path == url or path.strip("/") in ("", ".", "..") or path.endswith("/"):
        raise InvalidValue(
            "is not the address of a database",
            "Use sqlite:///onthedot.db (in the working folder), sqlite:////var/lib/onthedot.db"
            " (four slashes: a full path) or postgresql://user@host/name.",
        )
    if path == ":memory:":
        raise InvalidValue(
            "would be lost with the process", "Name a file; `onthedot demo` uses a throw-away one."
        )
    return url


def postgres(value: object) -> str:
    url = text(value)
    if not url.startswith(POSTGRES):
        raise InvalidValue("is not an address of PostgreSQL", "Use postgresql://role@host/name.")
    try:
        addresses(url)
    except BadUrl as bad:
        raise InvalidValue(bad.why, bad.hint) from None
    return url


def host(value: object) -> str:
    host = text(value)
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    if any(c in host for c in " /@[]") or (":" in host and not is_address(host)):
        raise InvalidValue(
            "is not a host name or address", "Use 127.0.0.1, ::1, 0.0.0.0 or a name."
        )
    return host


def host_names(value: object) -> tuple[str, ...]:
    found = names(value)
    for name in found:
        bare = name[1:-1] if name.startswith("[") else name
        if any(c in bare for c in " /@[]*") or (":" in bare and not is_address(bare)):
            raise InvalidValue(
                f"has '{short(name)}', which is not a host name or address",
                "Give names without scheme, port and wildcards, as in 'jobs.example.com'.",
            )
    return found


def api_key(value: object) -> str:
    key = text(value)
    if not key.isascii() or " " in key:
        # It travels in a header, where blanks and other letters would be changed on the way.
        raise InvalidValue(
            "has blanks or letters outside ASCII", "Use letters, digits and punctuation."
        )
    if len(key) < _KEY_MIN:
        raise InvalidValue(
            f"has {len(key)} characters, at least {_KEY_MIN} are needed",
            "Make one with: openssl rand -hex 32",
        )
    return key


def secrets(value: object) -> tuple[str, ...]:
    """Each is enough to sign with; several, while receivers change from one to the other."""
    found = tuple(part.strip() for part in text(value).split(","))
    if len(found) > _SECRETS_MAX or any(len(secret) < _SECRET_MIN for secret in found):
        raise InvalidValue(
            f"is not {_SECRETS_MAX} secrets at most, of at least {_SECRET_MIN} characters each",
            "Make one with: openssl rand -hex 32. Separate two by a comma.",
        )
    return found


def server(value: object) -> str:
    url = text(value).rstrip("/")
    hint = "Use an address such as http://127.0.0.1:8467."
    try:
        parts = urlsplit(url)
        port_is_sound = parts.port != 0
    except ValueError:
        raise InvalidValue("is not a web address", hint) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_sound:
        raise InvalidValue("is not a web address", hint)
    if parts.username is not None or parts.query or parts.fragment or " " in url:
        raise InvalidValue(
            "has more than scheme, host, port and path", f"{hint} A key goes into ONTHEDOT_API_KEY."
        )
    return url


def app(value: object) -> str:
    reference = text(value)
    module, mark, name = reference.partition(":")
    if not mark or not all(part.isidentifier() for part in [*module.split("."), name]):
        raise InvalidValue(
            "does not name an App", "Name a module and the App in it: package.module:app."
        )
    return reference


def is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def did_you_mean(name: str, known: Mapping[str, object] | tuple[str, ...] | set[str]) -> str:
    close = get_close_matches(name, sorted(known), n=1, cutoff=0.6)
    return f"Did you mean {close[0]}?" if close else ""


def short(value: object) -> object:
    text = value if isinstance(value, str) else repr(value)
    return value if len(text) <= _SHOWN_MAX else text[:_SHOWN_MAX] + "…"
