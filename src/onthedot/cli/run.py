"""`onthedot run`: see, cancel and redrive runs on a server."""

from __future__ import annotations

import json
from typing import Any

import click

from onthedot.cli import output
from onthedot.cli.client import connect, find_job, path_of
from onthedot.cli.dead_letters import dead, dismiss, redrive
from onthedot.cli.follow import lines_of
from onthedot.cli.values import remote
from onthedot.cli.watch import rows_max, watching
from onthedot.cli.watch import show as show_again

ACCEPTED = 202


@click.group("run")
def run_group() -> None:
    """Runs: the executions of jobs, and what became of them."""


@run_group.command("list")
@click.argument("job")
@click.option(
    "--limit", type=click.IntRange(min=1), default=50, show_default=True, help="At most so many."
)
@watching
@remote
def list_runs(job: str, server: str | None, as_json: bool, limit: int, watch: bool) -> None:
    """List the runs of a job, newest first. JOB is an id, a key or a unique name.

    \b
    Examples:
      onthedot run list heartbeat
      onthedot run list heartbeat --watch
      onthedot run list heartbeat --limit 500 --json
    """
    client, limit = connect(server), rows_max(limit, watch=watch)
    path = path_of("jobs", find_job(client, job), "runs")

    def draw() -> None:
        runs = list(client.items(path, "runs", limit=limit))
        if as_json:
            output.data_json(runs)
        elif not runs:
            output.note(f"'{output.printable(job)}' has no runs yet.")
        else:
            headings = ("RUN", "STATUS", "SCHEDULED FOR", "ATTEMPT", "LATENESS", "TOOK", "WHY")
            output.table(headings, map(_row, runs))

    show_again(draw, watch=watch, as_json=as_json)


@run_group.command("show")
@click.argument("run")
@remote
def show(run: str, server: str | None, as_json: bool) -> None:
    """Show one run with all its attempts.

    \b
    Example:
      onthedot run show RUN
    """
    found = connect(server).get(path_of("runs", run))
    if as_json:
        output.data_json(found)
        return
    output.card(_pairs(found))
    attempts = found.get("attempts") or []
    if attempts:
        output.data()
        headings = ("ATTEMPT", "STATUS", "STARTED", "TOOK", "WHY")
        output.table(headings, map(_attempt_row, attempts))
    error = str(found.get("error") or "")
    if "\n" in error:
        output.data("\n" + output.printable(error, keep_lines=True))


@run_group.command("cancel")
@click.argument("run")
@remote
def cancel(run: str, server: str | None, as_json: bool) -> None:
    """Cancel a run: one that has not started never will, one that is running is told to stop.

    \b
    Example:
      onthedot run cancel RUN
    """
    answer = connect(server).call("POST", path_of("runs", run, "cancel"))
    if as_json:
        output.data_json(answer.body)
    elif answer.status == ACCEPTED:
        output.note(f"{run} was told to stop: onthedot run show {run}")
    else:
        output.note(f"{run} is cancelled")


@run_group.command("logs")
@click.argument("run")
@click.option("--follow", "-f", is_flag=True, help="Go on until the run is over.")
@remote
def logs(run: str, server: str | None, as_json: bool, follow: bool) -> None:
    """Show what a run has printed and logged, while it is under way or afterwards.

    \b
    Examples:
      onthedot run logs RUN
      onthedot run logs RUN --follow
      onthedot run logs RUN --json
    """
    lines = lines_of(connect(server), run, follow=follow)
    if as_json and not follow:
        output.data_json(list(lines))
        return
    attempt = 1
    for line in lines:
        if as_json:
            output.data(json.dumps(line))
            continue
        if line.get("attempt") != attempt:
            attempt = line["attempt"]
            output.note(f"attempt {attempt}")
        said = output.printable(line.get("text"))
        output.data(f"{output.moment(line.get('at'))}  {line.get('level')!s:<7}  {said}".rstrip())


for command in (dead, redrive, dismiss):
    run_group.add_command(command)


def _row(run: dict[str, Any]) -> tuple[str, ...]:
    return (
        str(run.get("runId")),
        str(run.get("status")),
        _scheduled_for(run),
        str(run.get("attempt") or output.MISSING),
        output.lateness(run),
        output.took(run),
        _why(run),
    )


def _attempt_row(attempt: dict[str, Any]) -> tuple[str, ...]:
    return (
        str(attempt.get("attempt")),
        str(attempt.get("status")),
        output.moment(attempt.get("startedAt")),
        output.took(attempt),
        _why(attempt),
    )


def _pairs(run: dict[str, Any]) -> list[tuple[str, str]]:
    pairs = [
        ("run", str(run.get("runId"))),
        ("job", str(run.get("jobId"))),
        ("status", str(run.get("status"))),
        ("scheduled for", _scheduled_for(run)),
        *_moved(run),
        ("started", output.moment(run.get("startedAt"))),
        ("finished", output.moment(run.get("finishedAt"))),
        ("lateness", output.lateness(run)),
        ("why", _why(run)),
    ]
    if run.get("progress") is not None:
        pairs.append(("progress", _progress(run["progress"])))
    if run.get("redriveOf") is not None:
        pairs.append(("redrive of", str(run["redriveOf"])))
    if run.get("output") is not None:
        pairs.append(("output", str(run["output"])))
    return pairs


def _moved(run: dict[str, Any]) -> list[tuple[str, str]]:
    """From where a calendar moved it, and until when it is held back."""
    names = {"nominal": "moved from", "notBefore": "not before"}
    return [(says, output.moment(run[name])) for name, says in names.items() if run.get(name)]


def _scheduled_for(run: dict[str, Any]) -> str:
    """The instant; of a missed or skipped range both ends, and how many there were."""
    first = output.moment(run.get("scheduledFor"))
    if run.get("until") is None:
        return first
    count = run.get("count")
    many = "" if count is None else f", {count} occurrences"
    return f"{first} to {output.moment(run['until'])}{many}"


def _why(run: dict[str, Any]) -> str:
    """What there is to say about it: while it is under way, how far it has come."""
    if run.get("status") == "running" and run.get("progress"):
        return _progress(run["progress"])
    return output.first_line(run.get("error") or run.get("reason") or output.MISSING)


def _progress(progress: dict[str, Any]) -> str:
    done, total = progress.get("done", 0), progress.get("total")
    share = f"{done:,} of {total:,} ({done / total:.0%})" if total else f"{done:,}"
    return f"{share} {progress.get('text') or ''}".rstrip()
