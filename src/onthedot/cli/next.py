"""`onthedot next`: when a schedule is due. Computed here; no server is asked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from onthedot.cli import output
from onthedot.cli.values import clock_rules, instant
from onthedot.clock import SystemClock
from onthedot.core.instants import Instant, format_instant, parse_instant

if TYPE_CHECKING:
    from onthedot.core.schedules import Coming, FixedDelay, Once, Schedule

COUNT_MAX = 10_000
_NOTES = {
    "dstGap": "its own time is left out when the clocks change",
    "dstOverlapFirst": "its time comes twice: the first",
    "dstOverlapSecond": "its time comes twice: the second",
    "fixedDelay": "each further one is counted from the end of the run before it",
}
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
    """Show when a SCHEDULE is due next: plain English, cron, a duration, an instant.

    \b
    Examples:
      onthedot next "*/15 * * * *"
      onthedot next "30 2 * * *" --timezone Europe/Berlin --after 2027-03-27T00:00:00Z
      onthedot next "0 9 * * MON-FRI" --explain --json
      onthedot next "every weekday at 9am" --timezone Europe/Berlin
      onthedot next "15 minutes after the last run"

    Of a fixed delay one instant is shown: all others depend on when runs end.
    """
    # The tables of cron and time zones take a moment to load, and only this command needs them.
    from onthedot.core.schedules import coming, normal_form
    from onthedot.core.schedules import explain as sentence

    now, timezone = SystemClock().now(), str(options["timezone"])
    start = now if options["after"] is None else parse_instant(options["after"], field="--after")
    found = _read(schedule, options, start)
    dues = coming(found, start, count, anchor=start)
    if as_json:
        texts = [format_instant(due.at) for due in dues]
        said = {"sentence": sentence(found), "normalised": normal_form(found), "instants": texts}
        output.data_json(said if explain else texts)
        return
    if explain:
        output.data(sentence(found) + "\n")
    if not dues:
        output.note("Never again before 2200.")
        return
    rows = [_row(due, timezone, now) for due in dues]
    columns = (f"LOCAL TIME ({timezone})", "UTC", "FROM NOW", "NOTE")
    # A column for the few days of a year that need one.
    width = 4 if any(row[3] for row in rows) else 3
    output.table(columns[:width], [row[:width] for row in rows])


def _read(schedule: str, options: dict[str, Any], start: Instant) -> Schedule | Once | FixedDelay:
    from onthedot.core.schedules import Terms, read_schedule
    from onthedot.core.schedules.zones import zone_named

    zone_named(options["timezone"])
    job = options["job"]
    return read_schedule(
        schedule,
        Terms(
            now=start,
            timezone=options["timezone"],
            dst_gap=options["dstGap"],
            dst_overlap=options["dstOverlap"],
            seed=None if job is None else f"default/{job}",
        ),
    )


def _row(due: Coming, timezone: str, now: Instant) -> tuple[str, ...]:
    from onthedot.core.schedules.zones import zone_named

    local = (_EPOCH + timedelta(microseconds=due.at)).astimezone(zone_named(timezone))
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    changed = midnight.utcoffset() != (midnight + timedelta(days=1)).utcoffset()
    return (
        f"{local:%a %Y-%m-%d %H:%M:%S %Z}",
        format_instant(due.at),
        output.relative(due.at, now),
        ", ".join(_NOTES[mark] for mark in due.marks)
        or ("the clocks change on this day" if changed else ""),
    )
