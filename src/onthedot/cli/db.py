"""`onthedot db`: the schema of the database. No server is asked."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from onthedot import config
from onthedot.cli import output
from onthedot.core.redaction import address_without_password

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
            "database": address_without_password(url),
            "state": str(schema.state),
            "schema": schema.found,
            "needed": schema.knows,
        }
        output.data_json(said)
    elif refusal is None:
        output.data(f"{address_without_password(url)} has schema {schema.found}: up to date")
    else:
        output.show_error(f"{address_without_password(url)}: {refusal.message}", refusal.hint)
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
            {"database": address_without_password(url), "from": before.found, "to": before.knows}
        )
    elif before.found == before.knows:
        output.data(
            f"{address_without_password(url)} has schema {before.found}: up to date already"
        )
    else:
        output.data(f"{address_without_password(url)}: schema {before.found} -> {before.knows}")


@db_group.command("grant")
@click.argument("role")
@_database
def grant(role: str, database: str | None) -> None:
    """Let ROLE of PostgreSQL complete the runs of exactly-once functions, and nothing else of ours.

    Name it in `functions_database`, and functions write as that role instead of as the server.
    Run it again after each `onthedot db upgrade`.

    \b
    Examples:
      onthedot db grant shop
      onthedot db grant shop --database postgresql://onthedot@db/onthedot
    """
    from onthedot.store.migrate import grant as granted

    url = _settings(database).database
    asyncio.run(granted(url, role))
    output.data(f"{address_without_password(url)}: {role} can complete runs of functions")


@db_group.command("restored")
@_database
@click.option(
    "--copy",
    is_flag=True,
    help="The original goes on elsewhere: give this one an installation id of its own.",
)
@_json
def restored(database: str | None, copy: bool, as_json: bool) -> None:
    """Tell the database that it was restored from a backup, before the first server starts on it.

    Numbers of jobs and nodes that were given out since the backup are then never given out again.
    Ids of what is in the backup stay as they are. Nodes that were alive in it are declared dead.

    \b
    Examples:
      onthedot db restored
      onthedot db restored --database postgresql://onthedot@db/onthedot
      onthedot db restored --copy --database sqlite:///staging.db
    """
    from onthedot.clock import SystemClock
    from onthedot.ids import SystemChance
    from onthedot.store.migrate import restored as told

    settings = _settings(database)
    url = settings.database
    epoch = asyncio.run(
        told(
            url,
            now=SystemClock().now(),
            chance=SystemChance(),
            copy=copy,
            prepared=settings.prepared,
        )
    )
    if as_json:
        output.data_json({"database": address_without_password(url), "epoch": epoch, "copy": copy})
    else:
        output.data(f"{address_without_password(url)} begins epoch {epoch}: start the servers")


def _settings(database: str | None) -> config.Settings:
    settings = config.load({"database": database})
    for warning in settings.warnings:
        output.note(f"warning: {warning}")
    return settings
