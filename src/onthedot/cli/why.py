"""`onthedot why`: what keeps a job or a run, check by check."""

from __future__ import annotations

import re
from typing import Any

import click

from onthedot.cli import output
from onthedot.cli.client import connect, find_job, path_of
from onthedot.cli.values import remote

RUN_ID = re.compile(r"[0-9a-f]{10}-[0-9a-f]+-[0-9a-f]+")
_COLOURS = {"ok": "green", "note": "yellow", "problem": "red"}
_WIDTH = max(map(len, _COLOURS))


@click.command("why", short_help="Explain why a job or a run does not run.")
@click.argument("what", metavar="JOB|RUN")
@remote
def why(what: str, server: str | None, as_json: bool) -> None:
    """Explain why a JOB (an id, a key or a unique name) does not run, or what became of a RUN.

    \b
    Examples:
      onthedot why heartbeat
      onthedot why RUN --json
    """
    client = connect(server)
    if RUN_ID.fullmatch(what):
        said = client.get(path_of("runs", what, "why"))
    else:
        said = client.get(path_of("jobs", find_job(client, what), "why"))
    if as_json:
        output.data_json(said)
        return
    for finding in said["findings"]:
        _show(finding)
    output.data()
    output.data(output.printable(f"{what}: {said['summary']}"))


def _show(finding: dict[str, Any]) -> None:
    verdict = str(finding["verdict"])
    mark = click.style(verdict.ljust(_WIDTH), fg=_COLOURS.get(verdict))
    output.data(f"{mark}  {output.printable(finding['found'])}")
    if finding.get("fix"):
        output.data(f"{' ' * _WIDTH}  fix: {output.printable(finding['fix'])}")
