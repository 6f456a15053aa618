"""`onthedot next`: when a schedule is due. Computed here; no server is asked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from onthedot.cli import output
from onthedot.cli.values import instant
from onthedot.clock import SystemClock
from onthedot.core.instants import Instant, format_instant, parse_instant
from onthedot.errors import NotAvailableYet

if TYPE_CHECKING:
    from onthedot.core.schedules import Cron

COUNT_MAX = 10_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@click.command("next", short_help="Show when a schedule is due.")
@click.argument("schedule")
@click.option("--timezone", default="UTC", show_default=True, help="IANA name of the time zone.")
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
def next_command(
    schedule: str, timezone: str, after: str | None, count: int, explain: bool, as_json: bool
) -> None:
    """Show when a SCHEDULE (a cron expression of five fields) is due next.

    \b
    Examples:
      onthedot next "*/15 * * * *"
      onthedot next "30 2 * * *" --timezone Europe/Berlin --after 2027-03-27T00:00:00Z
      onthedot next "0 9 * * MON-FRI" --explain --json
    """
    # The tables of cron and time zones take a moment to load, and only this command needs them.
    from onthedot.core.schedules import Cron

    _refuse_other_kinds(schedule)
    cron = Cron.parse(schedule, timezone)
    now = SystemClock().now()
    start = now if after is None else parse_instant(after, field="--after")
    instants = _instants(cron, start, count)
    if as_json:
        texts = [format_instant(due) for due in instants]
        output.data_json({"sentence": cron.explain(), "instants": texts} if explain else texts)
        return
    if explain:
        output.data(cron.explain() + "\n")
    if not instants:
        output.note("Never again before 2200.")
        return
    rows = [_row(due, timezone, now) for due in instants]
    output.table((f"LOCAL TIME ({timezone})", "UTC", "FROM NOW"), rows)


def _refuse_other_kinds(schedule: str) -> None:
    # No cron expression begins with a letter, and everything else people try here does.
    if schedule.strip()[:1].isalpha():
        raise NotAvailableYet(
            f"'{schedule}' is not a cron expression; other kinds of schedule are not available yet",
            hint="Use five fields, minute to day-of-week: '0 9 * * MON-FRI'.",
            field="schedule",
        )


def _instants(cron: Cron, start: Instant, count: int) -> list[Instant]:
    found: list[Instant] = []
    for _ in range(count):
        due = cron.after(found[-1] if found else start)
        if due is None:
            break
        found.append(due)
    return found


def _row(due: Instant, timezone: str, now: Instant) -> tuple[str, str, str]:
    from onthedot.core.schedules.zones import zone_named

    local = (_EPOCH + timedelta(microseconds=due)).astimezone(zone_named(timezone))
    return (
        f"{local:%a %Y-%m-%d %H:%M:%S %Z}",
        format_instant(due),
        output.relative(due, now),
    )
