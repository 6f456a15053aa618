"""`onthedot bench`: how fast it is here, measured by the product itself."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from onthedot import config
from onthedot.cli import output
from onthedot.errors import WrongUse

if TYPE_CHECKING:
    from onthedot.bench.throughput import Throughput
    from onthedot.store.contract import Store


@click.group()
def bench() -> None:
    """Measure onthedot on this machine, with every guarantee on."""


@bench.command()
@click.option("--store", "kind", type=click.Choice(["sqlite", "postgres"]), default="sqlite")
@click.option("--seconds", type=click.FloatRange(1, 3_600), default=10.0, show_default=True)
@click.option("--handler", type=click.Choice(["none"]), default="none", show_default=True)
@click.option("--jobs", type=click.IntRange(1_000, 10_000_000), default=500_000, show_default=True)
@click.option("--database", help="An empty database; default: a temporary file, or the setting.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object.")
def throughput(**options: object) -> int:
    """Fire recurring schedules as fast as they can be fired, and count the ledger afterwards.

    Only the HTTP call is replaced, by a handler that does nothing. The database must be empty; it
    is brought to our schema, and the ledger is left in it.

    \b
    Examples:
      onthedot bench throughput --seconds 20
      onthedot bench throughput --store postgres --database postgresql:///bench --json
    """
    from onthedot.bench.place import bench_settings
    from onthedot.roles.running import run

    named = config.load({"database": options["database"]})
    with bench_settings(named, str(options["kind"])) as settings:
        output.note(f"database: {output.without_password(settings.database)}")
        seconds, jobs = float(str(options["seconds"])), int(str(options["jobs"]))
        found = run(_measured(settings, seconds, jobs))
    _show(found, as_json=bool(options["as_json"]))
    return 0 if found.lost == 0 and found.recorded_twice == 0 else 1


@bench.command()
@click.option(
    "--steps",
    type=click.IntRange(100, 100_000),
    default=2_000,
    show_default=True,
    help="Instants of each schedule.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object.")
def schedules(steps: int, as_json: bool) -> None:
    """Time how long a schedule takes to read and to give its next instant.

    \b
    Examples:
      onthedot bench schedules
      onthedot bench schedules --steps 10000 --json
    """
    from onthedot.bench.schedules import measure

    found = measure(steps)
    common = [each for each in found if each.common]
    totals = {
        "nextMicros": round(sum(each.next_us for each in common) / len(common), 2),
        "parseMicros": round(sum(each.parse_us for each in common) / len(common), 1),
        "parseMicrosMax": round(max(each.parse_us for each in found), 1),
    }
    if as_json:
        rows = [
            {
                "schedule": each.schedule,
                "timezone": each.timezone,
                "nextMicros": round(each.next_us, 2),
                "parseMicros": round(each.parse_us, 1),
            }
            for each in found
        ]
        output.data_json({**totals, "schedules": rows})
        return
    output.table(
        ("SCHEDULE", "TIME ZONE", "NEXT (µs)", "PARSE (µs)"),
        [(e.schedule, e.timezone, f"{e.next_us:.2f}", f"{e.parse_us:.1f}") for e in found],
    )
    for name, value in totals.items():
        output.data(f"{name:26} {value}")


async def _measured(settings: config.Settings, seconds: float, jobs: int) -> Throughput:
    from onthedot.bench.throughput import measure
    from onthedot.node import opened

    async with opened(settings) as (store, _):
        await _refuse_used(store, output.without_password(settings.database))
        return await measure(store, seconds=seconds, jobs=jobs, say=_say)


async def _refuse_used(store: Store, url: str) -> None:
    if await store.jobs.page(before=None, limit=1):
        raise WrongUse(
            f"the database {url} is in use: it has jobs",
            hint="A bench needs an empty one: createdb bench, then --database postgresql:///bench",
            field="database",
        )


def _say(text: str) -> None:
    """Progress on one line of a terminal; a log would only be filled by it."""
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{text}", err=True, nl=False)


def _show(found: Throughput, *, as_json: bool) -> None:
    figures = _figures(found)
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", err=True, nl=False)
    if as_json:
        output.data_json(figures)
        return
    for name, value in figures.items():
        output.data(f"{name:26} {value}")


def _figures(found: Throughput) -> dict[str, float | int | None]:
    late = found.lateness_s or [0.0]
    costs, runs = found.costs, max(1, found.all_runs)
    return {
        "runsPerSecond": round(found.runs / found.seconds),
        "p50LatenessMs": round(late[len(late) // 2] * 1e3, 2),
        "p99LatenessMs": round(late[int(len(late) * 0.99)] * 1e3, 2),
        "rowVersionsPerRun": None if costs is None else round(costs.row_versions / runs, 3),
        "walBytesPerRun": None if costs is None else round(costs.wal_bytes / runs),
        "lost": found.lost,
        "recordedTwice": found.recorded_twice,
        "runs": found.runs,
        "seconds": round(found.seconds, 2),
        "schedules": found.jobs,
        "schedulesLoadedPerSecond": round(found.jobs / found.load_seconds),
        "pythonMicrosPerRun": round(found.python_us_per_run, 1),
    }
