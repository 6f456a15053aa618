"""Settings: declared once, read from four places, each value knowing which one it came from.

defaults < `onthedot.toml` in the working folder < `ONTHEDOT_*` environment < flags
"""

from __future__ import annotations

import ipaddress
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from onthedot.config import readers
from onthedot.config.readers import ROLES, InvalidValue, did_you_mean, is_address, short
from onthedot.core.descriptors import Needs
from onthedot.core.instants import DAY, SECOND
from onthedot.core.redaction import address_without_password
from onthedot.errors import CannotStart, InvalidDuration, WrongUse

FILE: Final = "onthedot.toml"
PREFIX: Final = "ONTHEDOT_"
DEFAULT: Final = "default"

# Variables of ours that are no settings: they change how an error is shown, not what runs.
_OTHER_VARIABLES: Final = frozenset({"ONTHEDOT_DEBUG"})
_SLOTS_MAX: Final = 10_000
_ADDRESSES: Final = (readers.database, readers.postgres, readers.notify)

__all__ = ["ROLES", "SETTINGS", "Setting", "Settings", "load"]

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
    def is_address(self) -> bool:
        """Of a database: a password may be in it."""
        return self.read in _ADDRESSES

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper()

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")


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
    shown = not secret and read not in _ADDRESSES
    made: Any = field(default=default, repr=shown, metadata=declared)
    return made  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting of the server and of the commands that call it."""

    database: str = _setting(
        "sqlite:///onthedot.db",
        readers.database,
        "Where everything is kept; three slashes: from the working folder, four: a full path.",
    )
    host: str = _setting("127.0.0.1", readers.host, "The address the server listens on.")
    port: int = _setting(
        8467,
        readers.whole_number(0, 65_535),
        "The port the server listens on; 0 takes any free one.",
    )
    roles: tuple[str, ...] = _setting(
        ROLES, readers.roles, "What this server does, separated by commas."
    )
    api_key: str | None = _setting(
        None,
        readers.api_key,
        "The key every call must carry; without one, only loopback is served.",
        secret=True,
    )
    allowed_hosts: tuple[str, ...] = _setting(
        (),
        readers.host_names,
        "Names that the server may be called by, beside those of loopback, separated by commas.",
    )
    connections: int = _setting(
        1_000,
        readers.whole_number(16, 50_000),
        "How many clients may be connected at a time.",
        unit="clients",
    )
    webhook_secrets: tuple[str, ...] = _setting(
        (),
        readers.secrets,
        "What notices of failed runs are signed with; two, separated by a comma, to change it.",
        name="webhook_secret",
        secret=True,
    )
    slots: int = _setting(
        100,
        readers.whole_number(1, _SLOTS_MAX),
        "How many callbacks run at a time.",
        unit="callbacks",
    )
    grace_us: int = _setting(
        30 * SECOND,
        readers.duration("grace"),
        "How long runs in progress may take to end when the server is told to stop.",
        name="grace",
        unit="seconds, or ISO 8601",
    )
    retention_us: int = _setting(
        30 * DAY,
        readers.duration("retention"),
        "How long history is kept.",
        name="retention",
        unit="seconds, or ISO 8601",
    )
    queues: tuple[str, ...] = _setting(
        (), readers.names, "The queues whose runs are taken, separated by commas; none named: all."
    )
    app: str | None = _setting(
        None,
        readers.app,
        "The Python functions to run: a module and the App in it.",
        unit="module:app",
    )
    runners: int = _setting(
        0, readers.whole_number(0, 1_000), "Processes that run functions; 0: one less than cores."
    )
    functions_database: str | None = _setting(
        None,
        readers.postgres,
        "PostgreSQL as exactly-once functions reach it, by a role of their own; none: as we do.",
    )
    pool: int = _setting(
        10,
        readers.whole_number(2, 1_000),
        "How many connections to PostgreSQL.",
        unit="connections",
    )
    prepared: bool = _setting(
        True,
        readers.yes_or_no,
        "Whether statements are prepared; no behind a pooler by transactions.",
    )
    notify: bool | str = _setting(
        True,
        readers.notify,
        "Whether nodes on PostgreSQL wake each other, or its address past a pooler.",
    )
    server: str = _setting(
        "http://127.0.0.1:8467",
        readers.server,
        "Where the commands `job` and `run` send their calls.",
    )
    log_level: str = _setting(
        "info", readers.log_level, "The least serious events that are logged."
    )

    sources: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    warnings: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @property
    def on_postgres(self) -> bool:
        return not self.database.startswith("sqlite:")

    @property
    def database_path(self) -> Path:
        """The SQLite file; relative ones are meant from the working folder."""
        return Path(self.database.removeprefix("sqlite:///"))

    @property
    def descriptors(self) -> Needs:
        """What a server with these settings may have open."""
        is_worker = "worker" in self.roles
        return Needs(
            slots=self.slots if is_worker else 0,
            pool=self.pool if self.on_postgres else 0,
            runners=(self.runners or os.cpu_count() or 1) if self.app and is_worker else 0,
            clients=self.connections if "api" in self.roles else 0,
        )

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
    return is_address(host) and ipaddress.ip_address(host).is_loopback


def _read(setting: Setting, value: object, source: str) -> Any:
    try:
        return setting.read(value)
    except InvalidDuration as error:
        raise WrongUse(
            f"{error.message} (from {source})", hint=error.hint, field=setting.name
        ) from None
    except InvalidValue as wrong:
        # A secret is not repeated: errors end up in logs and tickets. A password goes before the
        # value is shortened: what marks its end might be cut off.
        if setting.is_address and isinstance(value, str):
            value = address_without_password(value)
        shown = "" if setting.secret else f" {short(value)!r}"
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
            hint="Fix its permissions, or move it away.",
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WrongUse(
            f"{FILE} is not valid TOML: {error}", hint="Write one setting per line: port = 8467"
        ) from None
    for name in values:
        if name not in _BY_NAME:
            raise WrongUse(
                f"{FILE} has an unknown setting '{short(name)}'",
                hint=did_you_mean(name, _BY_NAME) or f"The settings are {', '.join(_BY_NAME)}.",
                field=name,
            )
    return values


def _unknown_variables(environ: Mapping[str, str]) -> tuple[str, ...]:
    known = {setting.variable for setting in SETTINGS} | _OTHER_VARIABLES
    strangers = sorted(name for name in environ if name.startswith(PREFIX) and name not in known)
    return tuple(
        f"{short(name)} is not a setting and is ignored. {did_you_mean(name, known)}".rstrip()
        for name in strangers
    )
