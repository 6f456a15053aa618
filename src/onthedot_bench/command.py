"""`onthedot bench`: how fast it is here, measured by the product itself."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from onthedot import config
from onthedot.cli import output
from onthedot.core.redaction import address_without_password
from onthedot.errors import WrongUse

if TYPE_CHECKING:
    from onthedot.clock import Clock
    from onthedot.store.contract import Store
    from onthedot_bench.figures import Found
    from onthedot_bench.handlers import Kind, Opened
    from onthedot_bench.place import BenchDatabase

    Measuring = Callable[[BenchDatabase], Awaitable[Found]]

T = TypeVar("T")

BAR = 24
_SCALE = {
    "SCHEDULES": "schedules",
    "LOADED/S": "schedulesLoadedPerSecond",
    "RUNS/S": "runsPerSecond",
    "DATABASE µs/RUN": "databaseMicrosPerRun",
    "PYTHON µs/RUN": "pythonMicrosPerRun",
    "RSS MB": "rssMb",
    "PAGE OF JOBS ms": "pageOfJobsMs",
    "LOST": "lost",
}
_SHARED = (
    click.option("--store", "kind", type=click.Choice(["sqlite", "postgres"]), default="sqlite"),
    click.option("--database", help="An empty database, or one that a bench has made."),
    click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object."),
)
_HANDLER = click.option(
    "--handler",
    type=click.Choice(["none", "function", "http"]),
    default="function",
    show_default=True,
    help="What the runs call: nothing (the engine's own figure), a coroutine that does nothing in "
    "a runner process, or a receiver that answers 200.",
)


def _seconds(default: float) -> Callable[..., Any]:
    return click.option(
        "--seconds", type=click.FloatRange(1, 3_600), default=default, show_default=True
    )


def _shared(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_SHARED):
        command = option(command)
    return command


@click.group()
def bench() -> None:
    """Measure onthedot on this machine, with every guarantee on.

    The configured database is used if it is empty or was made by a bench; else a temporary one is:
    an SQLite file, or a PostgreSQL of its own if the extra `bench` is installed. The ledger is
    counted in the end; exit code 1 if anything was lost or recorded twice.
    """


@bench.command()
@_shared
@_HANDLER
@_seconds(10)
@click.option("--jobs", type=click.IntRange(1_000, 10_000_000), default=500_000, show_default=True)
@click.option("--nodes", type=click.IntRange(1, 64), default=1, show_default=True)
def throughput(handler: Kind, seconds: float, jobs: int, nodes: int, **place: Any) -> int:
    """Fire recurring schedules as fast as they can be fired.

    Several nodes are processes that share one PostgreSQL; figures are of all of them together.

    \b
    Examples:
      onthedot bench throughput --seconds 20
      onthedot bench throughput --store postgres --handler none --json
      onthedot bench throughput --store postgres --nodes 4
    """
    if nodes > 1:
        return _bench(_with_nodes(handler, nodes, seconds=seconds, jobs=jobs), **place)
    from onthedot_bench.throughput import measure

    async def measured(store: Store, clock: Clock, called: Opened) -> Found:
        return await measure(store, called, seconds=seconds, jobs=jobs, say=_say)

    return _bench(_at(measured, handler), **place)


@bench.command()
@_shared
@_HANDLER
@_seconds(10)
@click.option("--rate", type=click.IntRange(1, 100_000), default=1_000, show_default=True)
def lateness(handler: Kind, seconds: float, rate: int, **place: Any) -> int:
    """See how late runs start when so many fall due every second, by the real clock.

    \b
    Examples:
      onthedot bench lateness --rate 1000
      onthedot bench lateness --rate 20000 --store postgres --seconds 30
    """
    from onthedot_bench.lateness import measure

    async def measured(store: Store, clock: Clock, called: Opened) -> Found:
        return await measure(store, clock, called, rate=rate, seconds=seconds, say=_say)

    return _bench(_at(measured, handler, noting=True), **place)


@bench.command()
@_shared
@_HANDLER
@click.option("--jobs", type=click.IntRange(1_000, 1_000_000), default=100_000, show_default=True)
def herd(handler: Kind, jobs: int, **place: Any) -> int:
    """Let many jobs fall due at one instant, beside others that fall due every second.

    \b
    Examples:
      onthedot bench herd --store postgres
    """
    from onthedot_bench.herd import measure

    async def measured(store: Store, clock: Clock, called: Opened) -> Found:
        return await measure(store, clock, called, crowd=jobs, say=_say)

    return _bench(_at(measured, handler, noting=True), **place)


@bench.command()
@_shared
@_HANDLER
@_seconds(10)
@click.option(
    "--schedules",
    type=click.IntRange(1_000, 100_000_000),
    default=[1_000_000],
    show_default=True,
    multiple=True,
    help="Several times: one row of a table for each, without the 100,000 beside it.",
)
def scale(handler: Kind, seconds: float, schedules: tuple[int, ...], **place: Any) -> int:
    """Load many schedules in bulk and fire them, beside 100,000 of them.

    \b
    Examples:
      onthedot bench scale --schedules 10000000 --store postgres
      onthedot bench scale --schedules 10000 --schedules 100000 --schedules 1000000
    """
    from onthedot_bench.scale import measure, measure_each

    if len(schedules) == 1:
        [many] = schedules
        return _bench(
            lambda found: measure(found, handler, seconds=seconds, schedules=many, say=_say),
            **place,
        )
    as_json = place.pop("as_json")
    rows = _measured(
        lambda found: measure_each(found, handler, seconds=seconds, schedules=schedules, say=_say),
        **place,
    )
    figures = [found.figures() for found in rows]
    if as_json:
        output.data_json(figures)
    else:
        output.table(
            list(_SCALE), [[_shown(row[name]) for name in _SCALE.values()] for row in figures]
        )
    return 0 if all(found.is_sound for found in rows) else 1


@bench.command()
@_shared
@_HANDLER
@_seconds(5)
@click.option("--runs", type=click.IntRange(1_000, 10_000_000), default=100_000, show_default=True)
def enqueue(handler: Kind, seconds: float, runs: int, **place: Any) -> int:
    """Create jobs and trigger runs one by one, then enqueue many runs and drain them.

    Single calls come from 32 clients at once, for so many seconds of each kind.

    \b
    Examples:
      onthedot bench enqueue --store postgres --runs 200000
    """
    from onthedot_bench.enqueue import measure

    return _bench(
        lambda found: measure(found, handler, runs=runs, seconds=seconds, say=_say), **place
    )


@bench.command()
@_shared
@_seconds(10)
@click.option("--jobs", type=click.IntRange(1_000, 10_000_000), default=100_000, show_default=True)
def http(seconds: float, jobs: int, **place: Any) -> int:
    """Call a receiver on this machine as fast as it can be called.

    \b
    Examples:
      onthedot bench http --seconds 20
    """
    from onthedot_bench.throughput import measure

    async def measured(store: Store, clock: Clock, called: Opened) -> Found:
        return await measure(store, called, seconds=seconds, jobs=jobs, say=_say)

    return _bench(_at(measured, "http"), **place)


@bench.command()
@_shared
@_HANDLER
@_seconds(20)
@click.option(
    "--schedules", type=click.IntRange(1, 100_000_000), default=1_000_000, show_default=True
)
def idle(handler: Kind, seconds: float, schedules: int, **place: Any) -> int:
    """See what many schedules cost of which none is due.

    \b
    Examples:
      onthedot bench idle --schedules 1000000
    """
    from onthedot_bench.idle import measure

    async def measured(store: Store, clock: Clock, called: Opened) -> Found:
        return await measure(store, clock, called, seconds=seconds, schedules=schedules, say=_say)

    return _bench(_at(measured, handler), **place)


@bench.command()
@_shared
@click.option("--kills", type=click.IntRange(1, 1_000), default=3, show_default=True)
def recovery(kills: int, **place: Any) -> int:
    """Kill a server with -9, and see how long the work stands still.

    \b
    Examples:
      onthedot bench recovery --store postgres --kills 10
    """
    from onthedot_bench.recovery import measure

    return _bench(lambda found: measure(found, kills=kills, say=_say), **place)


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
    from onthedot_bench.schedules import measure

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


def _at(
    measured: Callable[[Store, Clock, Opened], Awaitable[Found]],
    handler: str,
    *,
    noting: bool = False,
) -> Measuring:
    """A bench of one node in this process, with its store and what its runs call."""

    async def measuring(place: BenchDatabase) -> Found:
        from onthedot_bench.handlers import opened

        async with (
            place.store() as (store, clock),
            opened(cast("Kind", handler), noting=noting) as called,
        ):
            return await measured(store, clock, called)

    return measuring


def _with_nodes(handler: Kind, nodes: int, *, seconds: float, jobs: int) -> Measuring:
    if handler == "http":
        raise WrongUse(
            "several nodes call nothing or a function",
            hint="Use --handler none or --handler function.",
            field="handler",
        )

    async def measuring(place: BenchDatabase) -> Found:
        from onthedot_bench.nodes import measure

        if not place.settings.on_postgres:
            raise WrongUse(
                "several nodes need PostgreSQL", hint="Add --store postgres.", field="store"
            )
        return await measure(place, handler, nodes=nodes, seconds=seconds, jobs=jobs, say=_say)

    return measuring


def _bench(measuring: Measuring, *, as_json: bool, **place: Any) -> int:
    about: dict[str, str] = {}

    async def told(place: BenchDatabase) -> Found:
        about.update(place.about)
        return await measuring(place)

    found = _measured(told, **place)
    figures = found.figures()
    if as_json:
        output.data_json(figures | {"about": about})
    else:
        for name, value in figures.items():
            output.data(f"{name:26} {_shown(value)}")
    return 0 if found.is_sound else 1


def _measured(
    measuring: Callable[[BenchDatabase], Awaitable[T]], *, kind: str, database: str | None
) -> T:
    from onthedot.event_loop import run

    async def everything() -> T:
        from onthedot_bench.place import a_place

        async with a_place(config.load({"database": database}), kind) as place:
            _introduce(place)
            return await measuring(place)

    found = run(everything())
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", err=True, nl=False)
    return found


def _shown(value: object) -> str:
    return output.MISSING if value is None else str(value)


def _introduce(place: BenchDatabase) -> None:
    if place.passed_over:
        output.note(f"The configured database is left alone: {place.passed_over}")
    output.note(f"database: {address_without_password(place.settings.database)}")
    output.note("settings: " + ", ".join(f"{name} {value}" for name, value in place.about.items()))


def _say(text: str, share: float) -> None:
    """Progress on one line of a terminal; a log would only be filled by it."""
    if sys.stderr.isatty():
        bar = "#" * round(BAR * min(1.0, share))
        click.echo(f"\r\x1b[K[{bar:<{BAR}}] {text}", err=True, nl=False)
