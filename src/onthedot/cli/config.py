"""`onthedot config`: every setting, its value, and where it came from."""

from __future__ import annotations

from typing import Any

import click

from onthedot import config
from onthedot.cli import output
from onthedot.core.instants import SECOND
from onthedot.core.redaction import HIDDEN, address_without_password


@click.command("config", short_help="Show every setting and where it came from.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def config_command(as_json: bool) -> None:
    """Show every setting: its value here and now, and whether that is the default or comes from
    onthedot.toml in the working folder or from an ONTHEDOT_* variable. Secrets are not shown.

    \b
    Examples:
      onthedot config
      ONTHEDOT_SLOTS=20 onthedot config --json
    """
    settings = config.load()
    for warning in settings.warnings:
        output.note(f"warning: {warning}")
    if as_json:
        output.data_json([_document(settings, setting) for setting in config.SETTINGS])
        return
    rows = [
        (setting.name, _text(_value(settings, setting)), settings.source_of(setting.name))
        for setting in config.SETTINGS
    ]
    output.table(("SETTING", "VALUE", "FROM"), rows)


def _document(settings: config.Settings, setting: config.Setting) -> dict[str, Any]:
    return {
        "name": setting.name,
        "value": _value(settings, setting),
        "source": settings.source_of(setting.name),
        "variable": setting.variable,
        "about": setting.about,
    }


def _value(settings: config.Settings, setting: config.Setting) -> Any:
    """As it may be told: durations in seconds, nothing that is secret, no password in an
    address.
    """
    value = getattr(settings, setting.attribute)
    if setting.secret:
        return HIDDEN if value else None
    if setting.is_address and isinstance(value, str):
        return address_without_password(value)
    if isinstance(value, tuple):
        return list(value)
    if setting.attribute.endswith("_us"):
        return value / SECOND if value % SECOND else value // SECOND
    return value


def _text(value: Any) -> str:
    if value is None or value == []:
        return output.MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(value) if isinstance(value, list) else str(value)
