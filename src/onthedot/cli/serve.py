"""`onthedot serve`: run a server until it is told to stop."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from onthedot import config
from onthedot.cli import output

if TYPE_CHECKING:
    from onthedot.node import NodeReady

FLAGS = (
    "host",
    "port",
    "database",
    "roles",
    "queues",
    "slots",
    "app",
    "runners",
    "grace",
    "log_level",
)


def _default(setting: config.Setting) -> str:
    value = getattr(config.Settings(), setting.attribute)
    if value in ((), None):
        return ""
    if isinstance(value, tuple):
        value = ",".join(value)
    if setting.attribute.endswith("_us"):
        value = f"{value // 1_000_000} s"
    return f"; default: {value}"


def setting_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """A flag for each setting of the server, worded as the setting is declared."""
    declared = {setting.name: setting for setting in config.SETTINGS}
    for name in reversed(FLAGS):
        setting = declared[name]
        # Values stay text here: `config` reads them, and words its errors alike for all sources.
        command = click.option(
            setting.flag,
            name,
            metavar=(setting.unit or name).split(",")[0].upper().replace("_", "-"),
            help=f"{setting.about}  [env: {setting.variable}{_default(setting)}]",
        )(command)
    return command


@click.command(short_help="Run a server.")
@setting_options
def serve(**flags: str | None) -> int:
    """Run a server: API, scheduler, worker and janitor, on an SQLite file or on PostgreSQL.

    Settings come from onthedot.toml in the working folder, then from ONTHEDOT_* variables, then
    from these options. SIGTERM or Ctrl-C lets the runs in progress end, then stops.

    \b
    Examples:
      onthedot serve
      onthedot serve --port 9000 --database sqlite:////var/lib/onthedot/onthedot.db
      onthedot serve --database postgresql://onthedot@db/onthedot --roles scheduler,worker
      ONTHEDOT_API_KEY=... onthedot serve --host 0.0.0.0
    """
    settings = config.load(flags)
    for warning in settings.warnings:
        output.note(f"warning: {warning}")
    settings.check_bind()
    # Until the server listens to signals itself there is nothing to drain: just leave.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    # The server brings the web framework and the event loop: no other command should pay for them.
    from onthedot.server import run_server

    return run_server(settings, on_ready=lambda ready: _say(ready, settings))


def _say(ready: NodeReady, settings: config.Settings) -> None:
    if ready.declared is not None:
        output.note(ready.declared.in_words())
    output.note(_ready(ready, settings))


def _ready(ready: NodeReady, settings: config.Settings) -> str:
    place = "onthedot is ready" + (f" at {ready.url}" if ready.url else "")
    if settings.roles == config.ROLES:
        return place
    duties = {"worker": f"worker ({settings.slots} slots, {_queues(settings.queues)})"}
    doing = ", ".join(duties.get(role, role) for role in settings.roles)
    return f"{place}: node {ready.node}, {doing}"


def _queues(queues: tuple[str, ...]) -> str:
    if not queues:
        return "all queues"
    return f"queue{'s' if len(queues) > 1 else ''} {', '.join(queues)}"
