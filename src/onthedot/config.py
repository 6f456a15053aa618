"""Settings: declared once, read from four places, each value knowing which one it came from.

defaults < `onthedot.toml` in the working folder < `ONTHEDOT_*` environment < flags
"""

from __future__ import annotations

import ipaddress
import os
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from onthedot.core.durations import parse_duration
from onthedot.core.instants import DAY, SECOND
from onthedot.errors import CannotStart, InvalidDuration, WrongUse

FILE: Final = "onthedot.toml"
PREFIX: Final = "ONTHEDOT_"
DEFAULT: Final = "default"
ROLES: Final = ("api", "scheduler", "worker", "janitor")
LOG_LEVELS: Final = ("debug", "info", "warning", "error")

# Variables of ours that are no settings: they change how an error is shown, not what runs.
_OTHER_VARIABLES: Final = frozenset({"ONTHEDOT_DEBUG"})
_POSTGRES: Final = ("postgresql://", "postgres://")
_SLOTS_MAX: Final = 10_000
_SHOWN_MAX: Final = 80

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Setting:
    """What is declared about one setting. `attribute` is its name in `Settings`, with the unit."""

    name: str
    attribute: str
    read: Callable[[object], Any]
    about: str
    unit: str
    secret: bool

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper()

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")


class _Wrong(ValueError):
    """Why a value cannot be taken. The reader knows that; where it came from, only `load` does."""

    def __init__(self, why: str, hint: str) -> None:
        super().__init__(why)
        self.why = why
        self.hint = hint


# --- reading one value, from text or from TOML ---


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _Wrong(f"is a {type(value).__name__}, not text", "Put it in quotes.")
    if not value or value != value.strip() or not value.isprintable():
        raise _Wrong("is empty or has blanks around it", "Give a value, or leave the setting out.")
    return value


def _whole_number(low: int, high: int) -> Callable[[object], int]:
    def read(value: object) -> int:
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise _Wrong(f"is not a whole number from {low} to {high}", f"Use {low} to {high}.")
        return value

    return read


def _duration(name: str) -> Callable[[object], int]:
    def read(value: object) -> int:
        if isinstance(value, str):
            # The environment and flags know only text: there, 90 is a number too.
            with suppress(ValueError):
                value = float(value)
        return parse_duration(value, field=name)

    return read


def _names(value: object) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise _Wrong("is not a list of names", "Separate names by commas, as in 'mail,reports'.")
    return tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))


def _roles(value: object) -> tuple[str, ...]:
    names = _names(value)
    for name in names:
        if name not in ROLES:
            raise _Wrong(
                f"has an unknown role '{_short(name)}'",
                _did_you_mean(name, ROLES) or f"The roles are {', '.join(ROLES)}.",
            )
    if not names:
        raise _Wrong("names no role", f"Use some of {', '.join(ROLES)}, or leave it out for all.")
    return tuple(role for role in ROLES if role in names)


def _log_level(value: object) -> str:
    if not isinstance(value, str) or value.lower() not in LOG_LEVELS:
        raise _Wrong("is not a log level", f"Use one of {', '.join(LOG_LEVELS)}.")
    return value.lower()


def _yes_or_no(value: object) -> bool:
    words = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in words:
        return words[value.lower()]
    raise _Wrong("is neither yes nor no", "Use yes or no.")


def _notify(value: object) -> Any:
    is_address = isinstance(value, str) and value.startswith(_POSTGRES)
    return _text(value) if is_address else _yes_or_no(value)


def _database(value: object) -> str:
    url = _text(value)
    if url.startswith(_POSTGRES):
        return url
    path = url.removeprefix("sqlite:///")
    if path == url or path.strip("/") in ("", ".", "..") or path.endswith("/"):
        raise _Wrong(
            "is not the address of a database",
            "Use sqlite:///onthedot.db (in the working folder), sqlite:////var/lib/onthedot.db"
            " (four slashes: a full path) or postgresql://user@host/name.",
        )
    if path == ":memory:":
        raise _Wrong(
            "would be lost with the process", "Name a file; `onthedot demo` uses a throw-away one."
        )
    return url


def _host(value: object) -> str:
    host = _text(value)
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    if any(c in host for c in " /@[]") or (":" in host and not _is_address(host)):
        raise _Wrong("is not a host name or address", "Use 127.0.0.1, ::1, 0.0.0.0 or a name.")
    return host


def _api_key(value: object) -> str:
    key = _text(value)
    if not key.isascii() or " " in key:
        # It travels in a header, where blanks and other letters would be changed on the way.
        raise _Wrong("has blanks or letters outside ASCII", "Use letters, digits and punctuation.")
    return key


def _server(value: object) -> str:
    url = _text(value).rstrip("/")
    hint = "Use an address such as http://127.0.0.1:8467."
    try:
        parts = urlsplit(url)
        port_is_sound = parts.port != 0
    except ValueError:
        raise _Wrong("is not a web address", hint) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_sound:
        raise _Wrong("is not a web address", hint)
    if parts.username is not None or parts.query or parts.fragment or " " in url:
        raise _Wrong(
            "has more than scheme, host, port and path", f"{hint} A key goes into ONTHEDOT_API_KEY."
        )
    return url


# --- the settings ---


def _setting(
    default: T,
    read: Callable[[object], T],
    about: str,
    *,
    name: str = "",
    unit: str = "",
    secret: bool = False,
) -> T:
    declared = {"name": name, "read": read, "about": about, "unit": unit, "secret": secret}
    made: Any = field(default=default, repr=not secret, metadata=declared)
    return made  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting of the server and of the commands that call it."""

    database: str = _setting(
        "sqlite:///onthedot.db",
        _database,
        "Where everything is kept; three slashes: from the working folder, four: a full path.",
    )
    host: str = _setting("127.0.0.1", _host, "The address the server listens on.")
    port: int = _setting(
        8467, _whole_number(0, 65_535), "The port the server listens on; 0 takes any free one."
    )
    roles: tuple[str, ...] = _setting(ROLES, _roles, "What this server does, separated by commas.")
    api_key: str | None = _setting(
        None, _api_key, "The key every call must carry; without one, only loopback is served.",
        secret=True,
    )  # fmt: skip
    slots: int = _setting(
        100, _whole_number(1, _SLOTS_MAX), "How many callbacks run at a time.", unit="callbacks"
    )
    grace_us: int = _setting(
        30 * SECOND,
        _duration("grace"),
        "How long runs in progress may take to end when the server is told to stop.",
        name="grace",
        unit="seconds, or ISO 8601",
    )
    retention_us: int = _setting(
        30 * DAY,
        _duration("retention"),
        "How long history is kept.",
        name="retention",
        unit="seconds, or ISO 8601",
    )
    queues: tuple[str, ...] = _setting(
        (), _names, "The queues whose runs are taken, separated by commas; none named: all."
    )
    pool: int = _setting(
        10, _whole_number(2, 1_000), "How many connections to PostgreSQL.", unit="connections"
    )
    prepared: bool = _setting(
        True, _yes_or_no, "Whether statements are prepared; no behind a pooler by transactions."
    )
    notify: bool | str = _setting(
        True, _notify, "Whether nodes on PostgreSQL wake each other, or its address past a pooler."
    )
    server: str = _setting(
        "http://127.0.0.1:8467", _server, "Where the commands `job` and `run` send their calls."
    )
    log_level: str = _setting("info", _log_level, "The least serious events that are logged.")

    sources: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    warnings: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @property
    def on_postgres(self) -> bool:
        return not self.database.startswith("sqlite:")

    @property
    def database_path(self) -> Path:
        """The SQLite file; relative ones are meant from the working folder."""
        return Path(self.database.removeprefix("sqlite:///"))

    def source_of(self, name: str) -> str:
        """Where a value came from: 'default', the file, a variable or a flag."""
        return self.sources.get(name, DEFAULT)

    def check_bind(self) -> None:
        """Refuse to serve other machines without a key: anybody could have us call anything."""
        if "api" in self.roles and self.api_key is None and not is_loopback(self.host):
            raise CannotStart(
                f"host '{self.host}' ({self.source_of('host')}) can be reached from other machines,"
                " and no API key is set",
                hint="Set ONTHEDOT_API_KEY to a long random text, or use --host 127.0.0.1.",
                field="host",
            )


SETTINGS: Final[tuple[Setting, ...]] = tuple(
    Setting(
        name=declared.metadata["name"] or declared.name,
        attribute=declared.name,
        read=declared.metadata["read"],
        about=declared.metadata["about"],
        unit=declared.metadata["unit"],
        secret=declared.metadata["secret"],
    )
    for declared in fields(Settings)
    if declared.metadata
)
_BY_NAME: Final = {setting.name: setting for setting in SETTINGS}


def load(
    flags: Mapping[str, object] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Settings:
    """The settings in force. A flag that is None was not given; WrongUse names a bad value.

    Unknown variables are only warned of: a shared environment may hold those of another version.
    """
    environ = os.environ if environ is None else environ
    chosen: dict[str, tuple[object, str]] = {}
    for name, value in _from_file((folder or Path()) / FILE).items():
        chosen[name] = value, FILE
    for setting in SETTINGS:
        if setting.variable in environ:
            chosen[setting.name] = environ[setting.variable], setting.variable
    for name, value in (flags or {}).items():
        if value is not None:
            chosen[name] = value, _BY_NAME[name].flag
    values = {_BY_NAME[name].attribute: _read(_BY_NAME[name], *at) for name, at in chosen.items()}
    sources = {name: source for name, (_, source) in chosen.items()}
    return replace(Settings(**values), sources=sources, warnings=_unknown_variables(environ))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it. Names other than localhost are not trusted to be."""
    if host.lower() == "localhost":
        return True
    return _is_address(host) and ipaddress.ip_address(host).is_loopback


def _read(setting: Setting, value: object, source: str) -> Any:
    try:
        return setting.read(value)
    except InvalidDuration as error:
        raise WrongUse(
            f"{error.message} (from {source})", hint=error.hint, field=setting.name
        ) from None
    except _Wrong as wrong:
        # A secret is not repeated: errors end up in logs and tickets.
        shown = "" if setting.secret else f" {_short(value)!r}"
        raise WrongUse(
            f"{setting.name}{shown} (from {source}) {wrong.why}",
            hint=wrong.hint,
            field=setting.name,
        ) from None


def _from_file(path: Path) -> dict[str, object]:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise WrongUse(
            f"{FILE} cannot be read: {error.strerror}",
            hint="Mend its permissions, or move it away.",
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WrongUse(
            f"{FILE} is not valid TOML: {error}", hint="Write one setting per line: port = 8467"
        ) from None
    for name in values:
        if name not in _BY_NAME:
            raise WrongUse(
                f"{FILE} has an unknown setting '{_short(name)}'",
                hint=_did_you_mean(name, _BY_NAME) or f"The settings are {', '.join(_BY_NAME)}.",
                field=name,
            )
    return values


def _unknown_variables(environ: Mapping[str, str]) -> tuple[str, ...]:
    known = {setting.variable for setting in SETTINGS} | _OTHER_VARIABLES
    strangers = sorted(name for name in environ if name.startswith(PREFIX) and name not in known)
    return tuple(
        f"{_short(name)} is not a setting and is ignored. {_did_you_mean(name, known)}".rstrip()
        for name in strangers
    )


def _did_you_mean(name: str, known: Mapping[str, object] | tuple[str, ...] | set[str]) -> str:
    close = get_close_matches(name, sorted(known), n=1, cutoff=0.6)
    return f"Did you mean {close[0]}?" if close else ""


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _short(value: object) -> object:
    text = value if isinstance(value, str) else repr(value)
    return value if len(text) <= _SHOWN_MAX else text[:_SHOWN_MAX] + "…"
