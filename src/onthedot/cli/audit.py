"""`onthedot audit`: prove that every due occurrence is accounted for."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import click

from onthedot.cli import output
from onthedot.cli.client import ApiClient, connect, find_job, path_of
from onthedot.cli.values import remote
from onthedot.errors import WrongUse

PARTS_MAX = 1_000_000
FAULTS_MAX = 1_000
TIMEOUT_S = 60.0
_COUNTED = ("jobs", "due", "unaccounted", "surplus", "miscounted", "untold")
_BY_REASON = ("ran", "skipped", "missed", "live")


@click.command("audit", short_help="Prove that every due occurrence is accounted for.")
@click.argument("job", required=False)
@click.option("--all", "everything", is_flag=True, help="All jobs, deleted ones too.")
@remote
def audit(job: str | None, everything: bool, server: str | None, as_json: bool) -> int:
    """Work out again what was due, over all versions of a JOB (an id, a key or a unique name), and
    find the fate of every instant in the ledger. It reaches back to the creation of the job, or as
    far as history is kept. Exit code 1: the books do not balance.

    \b
    Examples:
      onthedot audit heartbeat
      onthedot audit --all
      onthedot audit --all --json
    """
    if everything == (job is not None):
        raise WrongUse("name one job, or give --all", hint="onthedot audit --all")
    client = connect(server)
    client = ApiClient(client.server, client.api_key, TIMEOUT_S)
    path = "/audit" if job is None else path_of("jobs", find_job(client, job), "audit")
    whole = _whole(_parts(client, path))
    if as_json:
        output.data_json(whole)
    else:
        _show(whole)
    return 0 if whole["balanced"] else 1


def _parts(client: ApiClient, path: str) -> Iterator[dict[str, Any]]:
    query: dict[str, str | int] = {}
    seen = Counter[str]()
    for _ in range(PARTS_MAX):
        part = client.get(path, **query)
        yield part
        if not part.get("nextCursor"):
            break
        query = {"cursor": part["nextCursor"]}
        seen.update({"due": part["due"], "jobs": part["jobs"]})
        if sys.stderr.isatty():
            click.echo(f"\r{seen['jobs']} jobs, {seen['due']} instants …", err=True, nl=False)
    if seen and sys.stderr.isatty():
        output.note("")


def _whole(parts: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """The parts added up."""
    counted, reasons = Counter[str](), {name: Counter[str]() for name in _BY_REASON}
    faults: list[dict[str, Any]] = []
    until, gaps = None, []
    for part in parts:
        counted.update({name: part[name] for name in _COUNTED})
        for name, by_reason in reasons.items():
            by_reason.update(part[name])
        faults = (faults + part["faults"])[:FAULTS_MAX]
        until, gaps = part["until"], part["gaps"]
    whole: dict[str, Any] = {"until": until}
    whole |= {name: counted[name] for name in _COUNTED}
    whole |= {name: dict(by_reason) for name, by_reason in reasons.items()}
    return whole | {"balanced": not faults, "faults": faults, "gaps": gaps}


def _show(whole: dict[str, Any]) -> None:
    rows = [("due", "", str(whole["due"]))]
    for name in _BY_REASON:
        rows += [(name, reason, str(count)) for reason, count in sorted(whole[name].items())]
    rows += [(name, "", str(whole[name])) for name in ("unaccounted", "surplus", "miscounted")]
    if whole["untold"]:
        rows.append(("untold", "due by other tzdata", str(whole["untold"])))
    output.table(("WHAT", "WHY", "OCCURRENCES"), rows)
    for gap in whole["gaps"]:
        output.note(
            f"\nWhat was written from {gap['since']} to {gap['until']} is lost: {gap['reason']}."
            "\nRuns of that time may have happened without a trace here, or twice."
        )
    if whole["balanced"]:
        output.note(f"\nThe books balance: every one of {whole['due']} has exactly one fate.")
        return
    output.note("\nThe books do not balance:")
    found = [
        (fault["jobId"], fault["kind"], fault["scheduledFor"], fault["until"], str(fault["count"]))
        for fault in whole["faults"]
    ]
    output.table(("JOB", "FAULT", "FROM", "UNTIL", "OCCURRENCES"), found)
