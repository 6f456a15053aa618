"""`onthedot next`: when a schedule is due. Computed here; a server is asked only for a calendar."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from onthedot.cli import output
from onthedot.cli.calendar import rules_in
from onthedot.cli.client import connect, path_of
from onthedot.cli.fields import field_options
from onthedot.clock import SystemClock
from onthedot.core.fields import Where, declared
from onthedot.core.instants import Instant, parse_instant
from onthedot.core.limiting import limited

if TYPE_CHECKING:
    from onthedot.core.model import NamedCalendar
    from onthedot.core.schedules import FixedDelay, Once, Schedule
    from onthedot.wire.previews import ComingOut

COUNT_MAX = 10_000
_NOTES = {
    "dstGap": "its own time is left out when the clocks change",
    "dstOverlapFirst": "its time comes twice: the first",
    "dstOverlapSecond": "its time comes twice: the second",
    "jitter": "starts later, by jitter",
    "spread": "starts later, by spread",
    "last": "the last one",
    "fixedDelay": "each further one is counted from the end of the run before it",
}
_ARGUMENTS = {each.name for each in declared(Where.PREVIEW) if each.schedule} | {"count"}
_FROM_NOW = ("timezone", "dstGap", "dstOverlap", "calendarRoll", "job", "after")
"""What the instants themselves show; with any other field there are marks, too."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@click.command("next", short_help="Show when a schedule is due.")
@click.argument("schedule")
@field_options(Where.PREVIEW, besides=_ARGUMENTS)
@click.option("--server", metavar="URL", help="Where the calendar is, if it is no file.")
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

    A calendar is asked of a server by its name, or read from a file: --calendar @holidays.json.

    \b
    Examples:
      onthedot next "*/15 * * * *"
      onthedot next "30 2 * * *" --timezone Europe/Berlin --after 2027-03-27T00:00:00Z
      onthedot next "0 9 * * MON-FRI" --explain --json
      onthedot next "every weekday at 9am" --timezone Europe/Berlin
      onthedot next "0 18 L * *" --calendar business-days --calendar-roll previous
      onthedot next "15 minutes after the last run"

    Of a fixed delay one instant is shown: all others depend on when runs end.
    """
    # The tables of cron and time zones take a moment to load, and only this command needs them.
    from onthedot.core.schedules import explain as sentence
    from onthedot.core.schedules import normal_form

    options["timezone"] = timezone = options["timezone"] or "UTC"
    now, server = SystemClock().now(), options.pop("server")
    start = now if options["after"] is None else parse_instant(options["after"], field="--after")
    found = _read(schedule, options, start)
    dues = _coming(found, options, start, count, server)
    if as_json:
        texts = [due.at for due in dues]
        said: dict[str, Any] = {
            "sentence": sentence(found),
            "normalised": normal_form(found),
            "instants": texts,
        }
        if any(value is not None for name, value in options.items() if name not in _FROM_NOW):
            said["coming"] = [
                {"at": due.at, "nominal": due.nominal, "marks": due.marks, "skipped": due.skipped}
                for due in dues
            ]
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


def _coming(
    schedule: Schedule | Once | FixedDelay,
    options: dict[str, Any],
    start: Instant,
    count: int,
    server: str | None,
) -> list[ComingOut]:
    """Under the calendar and within the window that the options say."""
    from onthedot.core.editing import anchor_of
    from onthedot.core.model import Definition
    from onthedot.wire.converting import with_given
    from onthedot.wire.previews import Previewed, instants_of
    from onthedot.wire.shapes import PreviewIn
    from onthedot.wire.windows import windowed

    said = {each.name: options.get(each.wire_name) for each in declared(Where.PREVIEW)}
    given = PreviewIn(**{name: value for name, value in said.items() if value is not None})
    blank = with_given(Definition(name="", schedule=schedule), given)
    definition = windowed(blank, given, _calendar(options["calendar"], server))
    anchor = anchor_of(definition, start)
    definition = limited(definition, anchor, start)
    return list(instants_of(Previewed(definition, start, count, anchor)))


def _calendar(name: str | None, server: str | None) -> NamedCalendar | None:
    from onthedot.core.model import NamedCalendar
    from onthedot.wire.calendars import CalendarIn, calendar_of
    from onthedot.wire.reading import read

    if name is None:
        return None
    if name.startswith("@"):
        rules = rules_in(name[1:], "--calendar")
    else:
        found = connect(server).get(path_of("calendars", name))
        rules = {kind: found[kind] for kind in ("exclude", "require")}
    return NamedCalendar(name, 1, calendar_of(read(json.dumps(rules).encode(), CalendarIn)))


def _notes(due: ComingOut) -> list[str]:
    notes = [_NOTES[mark] for mark in due.marks if mark != "calendar"]
    if "calendar" in due.marks:
        notes.insert(0, f"moved from {due.nominal}")
    if due.skipped != 0:
        many = "many" if due.skipped is None else due.skipped
        notes.append(f"{many} before it {'has' if many == 1 else 'have'} no run")
    return notes


def _row(due: ComingOut, timezone: str, now: Instant) -> tuple[str, ...]:
    from onthedot.core.schedules.zones import zone_named

    at = parse_instant(due.at, field="at")
    local = (_EPOCH + timedelta(microseconds=at)).astimezone(zone_named(timezone))
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    changed = midnight.utcoffset() != (midnight + timedelta(days=1)).utcoffset()
    return (
        f"{local:%a %Y-%m-%d %H:%M:%S %Z}",
        due.at,
        output.relative(at, now),
        ", ".join(_notes(due)) or ("the clocks change on this day" if changed else ""),
    )
