"""`onthedot calendar`: days and hours on which jobs may be due."""

from __future__ import annotations

import json
from itertools import zip_longest
from typing import Any

import click

from onthedot.cli import output
from onthedot.cli.client import connect, path_of
from onthedot.cli.values import remote, text_of
from onthedot.errors import WrongUse


@click.group("calendar")
def calendar_group() -> None:
    """Calendars: days and hours on which jobs may be due. Jobs follow them by name."""


@calendar_group.command("list")
@remote
def list_(server: str | None, as_json: bool) -> None:
    """List calendars.

    \b
    Example:
      onthedot calendar list
    """
    found = list(connect(server).items("/calendars", "calendars"))
    if as_json:
        output.data_json(found)
        return
    if not found:
        output.note("no calendars")
        return
    rows = [
        (
            each["name"],
            str(each["version"]),
            f"{len(each['exclude'])} exclude, {len(each['require'])} require",
            str(each["jobs"]),
        )
        for each in found
    ]
    output.table(("NAME", "VERSION", "RULES", "JOBS"), rows)


@calendar_group.command("show")
@click.argument("name")
@remote
def show(name: str, server: str | None, as_json: bool) -> None:
    """Show the rules of a calendar.

    \b
    Example:
      onthedot calendar show business-days
    """
    _show(connect(server).get(path_of("calendars", name)), as_json=as_json)


@calendar_group.command("set")
@click.argument("name")
@click.option("--exclude", multiple=True, metavar="RULE", help="Not allowed. May be repeated.")
@click.option("--require", multiple=True, metavar="RULE", help="Only allowed. May be repeated.")
@click.option(
    "--file",
    metavar="FILE",
    help='Rules as JSON, {"exclude": […], "require": […]}; - for standard input.',
)
@click.option("--dry-run", is_flag=True, help="Only show which jobs it would move.")
@remote
def set_(name: str, dry_run: bool, server: str | None, as_json: bool, **given: Any) -> None:
    """Make a calendar, or give it other rules: those it had are gone.

    A RULE is a date (2027-12-24), a date of every year (12-25), a span of either
    (2027-12-24/2028-01-02), days (mon-fri), hours ("mon-fri 09:00-17:00"), or moments
    (2027-12-20T18:00/2028-01-02T08:00), in the zone of each job.

    \b
    Examples:
      onthedot calendar set business-days --require mon-fri --exclude 12-25 --exclude 01-01
      onthedot calendar set freeze --exclude 2027-12-20T18:00/2028-01-02T08:00 --dry-run
    """
    rules = {kind: list(given[kind]) for kind in ("exclude", "require")}
    if given["file"] is not None:
        if any(rules.values()):
            raise WrongUse("--file and rules are both given", hint="Give one of them.")
        rules = rules_in(given["file"], "--file")
    path = path_of("calendars", name)
    answer = connect(server).call("PUT", f"{path}?dryRun=true" if dry_run else path, rules).body
    if not dry_run:
        _show(answer, as_json=as_json)
    elif as_json:
        output.data_json(answer)
    else:
        _moves(answer)


@calendar_group.command("delete")
@click.argument("name")
@remote
def delete(name: str, server: str | None, as_json: bool) -> None:
    """Delete a calendar that no job follows.

    \b
    Example:
      onthedot calendar delete freeze
    """
    connect(server).call("DELETE", path_of("calendars", name))
    if as_json:
        output.data_json({"name": name, "deleted": True})
    else:
        output.note(f"deleted {name}")


def rules_in(name: str, option: str) -> dict[str, Any]:
    """The rules in a file, as the API takes them. What it says is checked where it is used."""
    try:
        found = json.loads(text_of(option, name))
    except (ValueError, RecursionError) as error:
        raise WrongUse(f"{option} {name!r} is not JSON: {error}", hint=_SHAPE) from None
    if not isinstance(found, dict):
        raise WrongUse(f"{option} {name!r} is not a JSON object", hint=_SHAPE)
    # What `calendar show --json` printed may be given back.
    return {key: value for key, value in found.items() if key not in _SHOWN_ONLY}


_SHAPE = 'Write {"exclude": ["12-25"], "require": ["mon-fri"]}.'
_SHOWN_ONLY = ("name", "version", "jobs", "behind", "createdAt", "updatedAt")


def _show(calendar: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        output.data_json(calendar)
        return
    behind = f", {calendar['behind']} of them not yet" if calendar["behind"] else ""
    output.data(f"{calendar['name']}, version {calendar['version']}")
    output.data(f"followed by {calendar['jobs']} jobs{behind}")
    for kind in ("require", "exclude"):
        for rule in calendar[kind]:
            output.data(f"  {kind:7}  {rule}")


def _moves(answer: dict[str, Any]) -> None:
    if not answer["moves"]:
        output.note(f"No job would move; {answer['jobs']} follow it.")
        return
    for move in answer["moves"]:
        output.data(f"{move['name']} ({move['jobId']})")
        old, new = ([output.moment(each["at"]) for each in move[side]] for side in ("old", "new"))
        output.table(("OLD", "NEW"), list(zip_longest(old, new, fillvalue=output.MISSING)))
