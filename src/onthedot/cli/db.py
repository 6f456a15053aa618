"""`onthedot db`: the schema of the database. No server is asked."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from onthedot import config
from onthedot.cli import output

FAILED = 1

_database = click.option(
    "--database",
    metavar="URL",
    help="The database.  [env: ONTHEDOT_DATABASE; default: sqlite:///onthedot.db]",
)
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


@click.group("db")
def db_group() -> None:
    """The database: its schema, and bringing it up to date."""


@db_group.command("check")
@_database
@_json
def check(database: str | None, as_json: bool) -> int:
    """Say whether the database has the schema that this version needs; exit 1 if it has not.

    \b
    Examples:
      onthedot db check
      onthedot db check --database postgresql://onthedot@db/onthedot --json
    """
    # The stores take a moment to load, and few commands need them.
    from onthedot.store.migrate import inspect

    settings = _settings(database)
    url = settings.database
    schema = asyncio.run(inspect(url, prepared=settings.prepared))
    refusal = schema.refusal()
    if as_json:
        said: dict[str, Any] = {
            "database": output.without_password(url),
            "state": str(schema.state),
            "schema": schema.found,
            "needed": schema.knows,
        }
        output.data_json(said)
    elif refusal is None:
        output.data(f"{output.without_password(url)} has schema {schema.found}: up to date")
    else:
        output.show_error(f"{output.without_password(url)}: {refusal.message}", refusal.hint)
    return 0 if refusal is None else FAILED


@db_group.command("upgrade")
@_database
@_json
def upgrade(database: str | None, as_json: bool) -> None:
    """Bring the database to the schema that this version needs, in one transaction.

    An SQLite file must not be in use. On PostgreSQL it gives up after 3 seconds of waiting for
    a lock, with nothing changed.

    \b
    Examples:
      onthedot db upgrade
      onthedot db upgrade --database postgresql://onthedot@db/onthedot
    """
    from onthedot.store.migrate import upgrade as upgraded

    settings = _settings(database)
    url = settings.database
    before = asyncio.run(upgraded(url, prepared=settings.prepared))
    if as_json:
        output.data_json(
            {"database": output.without_password(url), "from": before.found, "to": before.knows}
        )
    elif before.found == before.knows:
        output.data(f"{output.without_password(url)} has schema {before.found}: up to date already")
    else:
        output.data(f"{output.without_password(url)}: schema {before.found} -> {before.knows}")


def _settings(database: str | None) -> config.Settings:
    settings = config.load({"database": database})
    for warning in settings.warnings:
        output.note(f"warning: {warning}")
    return settings
