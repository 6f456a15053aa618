"""`onthedot next`: when a schedule is due. Computed here; no server is asked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from onthedot.cli import output
from onthedot.cli.values import clock_rules, instant
from onthedot.clock import SystemClock
from onthedot.core.instants import Instant, format_instant, parse_instant
from onthedot.errors import NotAvailableYet

if TYPE_CHECKING:
    from onthedot.core.schedules import Schedule

COUNT_MAX = 10_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@click.command("next", short_help="Show when a schedule is due.")
@click.argument("schedule")
@click.option("--timezone", default="UTC", show_default=True, help="IANA name of the time zone.")
@clock_rules
@click.option("--job", help="Key or name of the job, from which H takes its values.")
@click.option(
    "--after",
    callback=instant,
    metavar="INSTANT",
    help="Strictly after this instant.  [default: now]",
)
@click.option(
    "--count",
    type=click.IntRange(1, COUNT_MAX),
    default=5,
    show_default=True,
    help="How many instants.",
)
@click.option("--explain", is_flag=True, help="Say the schedule in a sentence, too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def next_command(schedule: str, count: int, explain: bool, as_json: bool, **options: Any) -> None:
    """Show when a SCHEDULE (a cron expression, or @every 90s) is due next.

    \b
    Examples:
      onthedot next "*/15 * * * *"
      onthedot next "30 2 * * *" --timezone Europe/Berlin --after 2027-03-27T00:00:00Z
      onthedot next "0 9 * * MON-FRI" --explain --json
    """
    # The tables of cron and time zones take a moment to load, and only this command needs them.
    from onthedot.core.schedules import explain as sentence

    found = _read(schedule, options)
    now, timezone = SystemClock().now(), str(options["timezone"])
    start = now if options["after"] is None else parse_instant(options["after"], field="--after")
    instants = _instants(found, start, count)
    if as_json:
        texts = [format_instant(due) for due in instants]
        output.data_json({"sentence": sentence(found), "instants": texts} if explain else texts)
        return
    if explain:
        output.data(sentence(found) + "\n")
    if not instants:
        output.note("Never again before 2200.")
        return
    rows = [_row(due, timezone, now) for due in instants]
    columns = (f"LOCAL TIME ({timezone})", "UTC", "FROM NOW", "NOTE")
    # A column for the few days of a year that need one.
    width = 4 if any(row[3] for row in rows) else 3
    output.table(columns[:width], [row[:width] for row in rows])


def _read(schedule: str, options: dict[str, Any]) -> Schedule:
    from onthedot.core.schedules import read_schedule
    from onthedot.core.schedules.zones import zone_named

    _refuse_other_kinds(schedule)
    zone_named(options["timezone"])
    job = options["job"]
    return read_schedule(
        schedule,
        options["timezone"],
        dst_gap=options["dstGap"],
        dst_overlap=options["dstOverlap"],
        seed=None if job is None else f"default/{job}",
    )


def _refuse_other_kinds(schedule: str) -> None:
    # No cron expression begins with a letter, but for H; everything else people try here does.
    text = schedule.strip()
    if text[:1].isalpha() and text[:2] not in ("H ", "H(", "H/", "H,"):
        raise NotAvailableYet(
            f"'{schedule}' is not a cron expression; other kinds of schedule are not available yet",
            hint="Use five fields, minute to day-of-week: '0 9 * * MON-FRI'.",
            field="schedule",
        )


def _instants(schedule: Schedule, start: Instant, count: int) -> list[Instant]:
    found: list[Instant] = []
    for _ in range(count):
        due = schedule.after(found[-1] if found else start, anchor=start)
        if due is None:
            break
        found.append(due)
    return found


def _row(due: Instant, timezone: str, now: Instant) -> tuple[str, ...]:
    from onthedot.core.schedules.zones import zone_named

    local = (_EPOCH + timedelta(microseconds=due)).astimezone(zone_named(timezone))
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    changed = midnight.utcoffset() != (midnight + timedelta(days=1)).utcoffset()
    return (
        f"{local:%a %Y-%m-%d %H:%M:%S %Z}",
        format_instant(due),
        output.relative(due, now),
        "the clocks change on this day" if changed else "",
    )
