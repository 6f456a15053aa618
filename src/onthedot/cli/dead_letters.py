"""`onthedot run dead|redrive|dismiss`: what has failed for good, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from onthedot.cli import output
from onthedot.cli.client import ApiClient, connect, find_job, path_of
from onthedot.cli.values import remote
from onthedot.errors import OnthedotError, WrongUse

ROUNDS_MAX = 10_000
"""Each deals with a thousand letters; nobody has more."""

of_a_job = click.option(
    "--job", metavar="JOB", help="All of this job: an id, a key or a unique name."
)


@click.command("dead")
@click.option("--job", metavar="JOB", help="Only those of this job: an id, a key, a unique name.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=50, show_default=True, help="At most so many."
)
@remote
def dead(server: str | None, as_json: bool, job: str | None, limit: int) -> None:
    """List the runs that failed for good and that nobody has redriven or dismissed yet.

    \b
    Examples:
      onthedot run dead
      onthedot run dead --job heartbeat --limit 500 --json
    """
    client = connect(server)
    path = "/dead-letters" if job is None else _letters_of(client, job)
    # One more than asked for tells whether there are more.
    letters = list(client.items(path, "deadLetters", limit=limit + 1))
    if as_json:
        output.data_json(letters[:limit])
    elif not letters:
        output.note("There are no dead letters.")
    else:
        headings = ("RUN", "JOB", "NAME", "SCHEDULED FOR", "FAILED", "ATTEMPT", "WHY")
        output.table(headings, map(_row, letters[:limit]))
    if len(letters) > limit:
        output.note(f"There are more than {limit}: use --limit.")


@click.command("redrive")
@click.argument("run", required=False)
@of_a_job
@remote
def redrive(server: str | None, as_json: bool, run: str | None, job: str | None) -> None:
    """Run again what failed for good: a new run each, with the payload of the old one.

    \b
    Examples:
      onthedot run redrive RUN
      onthedot run redrive --job heartbeat
    """
    client = connect(server)
    if _one_of(run, job):
        made = client.post(path_of("runs", str(run), "redrive"))
        runs = [made]
    else:
        path = _letters_of(client, str(job)) + "/redrive"
        runs = []
        _repeat(lambda: _more(client, "POST", path, lambda answer: runs.extend(answer["runs"])))
    if as_json:
        output.data_json(runs[0] if job is None else runs)
        return
    for each in runs:
        output.data(str(each["runId"]))
    if job is not None:
        output.note(f"{len(runs)} redriven")


@click.command("dismiss")
@click.argument("run", required=False)
@of_a_job
@remote
def dismiss(server: str | None, as_json: bool, run: str | None, job: str | None) -> None:
    """Let go of what failed for good; the history of its runs stays.

    \b
    Examples:
      onthedot run dismiss RUN
      onthedot run dismiss --job heartbeat
    """
    client = connect(server)
    counts: list[int] = []
    if _one_of(run, job):
        client.call("DELETE", path_of("dead-letters", str(run)))
        counts.append(1)
    else:
        path = _letters_of(client, str(job))
        _repeat(
            lambda: _more(client, "DELETE", path, lambda said: counts.append(said["dismissed"]))
        )
    if as_json:
        output.data_json({"dismissed": sum(counts)})
    else:
        output.note(f"{sum(counts)} dismissed")


def _letters_of(client: ApiClient, job: str) -> str:
    return path_of("jobs", find_job(client, job), "dead-letters")


def _one_of(run: str | None, job: str | None) -> bool:
    """Whether one run is meant, not all of a job."""
    if (run is None) == (job is None):
        raise WrongUse(
            "give either RUN or --job", hint="`onthedot run dead` lists runs that failed for good."
        )
    return run is not None


def _more(client: ApiClient, method: str, path: str, take: Callable[[Any], None]) -> bool:
    answer = client.call(method, path).body
    take(answer)
    return bool(answer["more"])


def _repeat(step: Callable[[], bool]) -> None:
    for _ in range(ROUNDS_MAX):
        if not step():
            return
    raise OnthedotError(
        "there are more dead letters than can be dealt with in one go",
        hint="Repeat the command; find out what keeps failing first.",
    )


def _row(letter: dict[str, Any]) -> tuple[str, ...]:
    return (
        str(letter.get("runId")),
        str(letter.get("jobId")),
        str(letter.get("jobName") or "(deleted)"),
        output.moment(letter.get("scheduledFor")),
        output.moment(letter.get("failedAt")),
        str(letter.get("attempt")),
        output.first_line(letter.get("error") or output.MISSING),
    )
