"""`onthedot job`: make, see, pause, resume, trigger and delete jobs on a server."""

from __future__ import annotations

from typing import Any

import click

from onthedot.cli import output
from onthedot.cli.client import ApiClient, connect, find_job, path_of
from onthedot.cli.fields import field_options, request_of
from onthedot.cli.values import instant, remote
from onthedot.cli.watch import rows_max, watching
from onthedot.cli.watch import show as show_again
from onthedot.clock import SystemClock
from onthedot.core.durations import format_duration, parse_duration
from onthedot.core.fields import Where

_WINDOW = {"starts at": "startAt", "ends at": "endAt", "last run": "lastRunAt"}


@click.group("job")
def job_group() -> None:
    """Jobs: what to do and when.

    JOB is a job's id, its key, or a name that only one job has.
    """


@job_group.command("add")
@click.argument("name")
@field_options(Where.CREATE, besides=["name"])
@remote
def add(server: str | None, as_json: bool, **fields: Any) -> None:
    """Make a job that calls a URL or a function when it is due; without a schedule, only when
    triggered.

    \b
    Examples:
      onthedot job add heartbeat --url http://127.0.0.1:9000/beat --every 10
      onthedot job add report --url https://example.com/report \\
          --cron "0 9 * * MON-FRI" --timezone Europe/Berlin
      onthedot job add digest --url https://example.com/digest --schedule "every monday at 8:00"
      onthedot job add reminder --url https://example.com/mail \\
          --delay PT1H --payload '{"to": "ana"}'
    """
    job = connect(server).post("/jobs", request_of(fields))
    show_job(job, as_json=as_json)


@job_group.command("list")
@click.option(
    "--limit", type=click.IntRange(min=1), default=50, show_default=True, help="At most so many."
)
@click.option("--gone", is_flag=True, help="Only those that code declares no longer.")
@watching
@remote
def list_jobs(server: str | None, as_json: bool, limit: int, watch: bool, gone: bool) -> None:
    """List jobs.

    \b
    Examples:
      onthedot job list
      onthedot job list --watch
      onthedot job list --limit 1000 --json
      onthedot job list --gone
    """
    client, limit = connect(server), rows_max(limit, watch=watch)
    show_again(lambda: _list(client, limit, gone, as_json=as_json), watch=watch, as_json=as_json)


def _list(client: ApiClient, limit: int, gone: bool, *, as_json: bool) -> None:
    # One more than asked for tells whether there are more.
    if gone:
        jobs = list(client.get("/jobs", declared="gone")["jobs"])
    else:
        jobs = list(client.items("/jobs", "jobs", limit=limit + 1))
    if as_json:
        output.data_json(jobs[:limit])
    elif gone and not jobs:
        output.note("Every job that an app has declared is in its code.")
    elif not jobs:
        output.note("There are no jobs yet: onthedot job add --help")
    else:
        output.table(("ID", "NAME", "KEY", "SCHEDULE", "NEXT RUN"), map(_row, jobs[:limit]))
    if len(jobs) > limit:
        output.note(f"There are more than {limit}: use --limit.")


@job_group.command("show")
@click.argument("job")
@remote
def show(job: str, server: str | None, as_json: bool) -> None:
    """Show one job.

    \b
    Example:
      onthedot job show heartbeat
    """
    client = connect(server)
    show_job(client.get(path_of("jobs", find_job(client, job))), as_json=as_json)


@job_group.command("pause")
@click.argument("job")
@remote
def pause(job: str, server: str | None, as_json: bool) -> None:
    """Stop a job's occurrences; runs already made go on.

    \b
    Example:
      onthedot job pause heartbeat
    """
    _set_paused(connect(server), job, paused=True, as_json=as_json)


@job_group.command("resume")
@click.argument("job")
@remote
def resume(job: str, server: str | None, as_json: bool) -> None:
    """Let a paused job go on.

    \b
    Example:
      onthedot job resume heartbeat
    """
    _set_paused(connect(server), job, paused=False, as_json=as_json)


@job_group.command("delete")
@click.argument("job")
@remote
def delete(job: str, server: str | None, as_json: bool) -> None:
    """Delete a job; its history stays until its retention ends.

    \b
    Example:
      onthedot job delete heartbeat
    """
    client = connect(server)
    job_id = find_job(client, job)
    client.call("DELETE", path_of("jobs", job_id))
    if as_json:
        output.data_json({"jobId": job_id, "deleted": True})
    else:
        output.note(f"deleted {job_id}")


@job_group.command("trigger")
@click.argument("job")
@field_options(Where.TRIGGER)
@click.option("--wait", is_flag=True, help="Follow the run until it is over; exit 1 if it failed.")
@remote
def trigger(job: str, server: str | None, as_json: bool, wait: bool, **fields: Any) -> int:
    """Run a job now, whatever its schedule, with its own payload unless one is given.

    \b
    Examples:
      onthedot job trigger report --wait
      onthedot job trigger report --payload @june.json --delay 60
    """
    from onthedot.cli.follow import wait_until_over

    client = connect(server)
    request = request_of(fields)
    run = client.post(path_of("jobs", find_job(client, job), "trigger"), request)
    if wait:
        run = wait_until_over(client, str(run["runId"]))
    if as_json:
        output.data_json(run)
    else:
        output.data(f"{run['runId']} {run['status']}" if wait else str(run["runId"]))
    return 1 if wait and run["status"] != "succeeded" else 0


@job_group.command("backfill")
@click.argument("job")
@click.option(
    "--from", "from", required=True, callback=instant, metavar="INSTANT", help="Included."
)
@click.option("--until", callback=instant, metavar="INSTANT", help="Included.  [default: now]")
@click.option("--dry-run", "dryRun", is_flag=True, default=None, help="Only say what it would run.")
@click.option("--order", type=click.Choice(["oldest", "newest"]), help="[default: oldest]")
@click.option("--priority", type=int, help="Of its runs, 0 to 9.  [default: 0]")
@click.option("--concurrency", type=int, help="Runs at a time, 1 to 100.  [default: 5]")
@remote
def backfill(job: str, server: str | None, as_json: bool, **fields: Any) -> None:
    """Run what never ran in a range of the past: missed, skipped, or before the job existed.

    \b
    Examples:
      onthedot job backfill report --from 2027-01-01T00:00:00Z --dry-run
      onthedot job backfill report --from 2027-01-01T00:00:00Z --until 2027-02-01T00:00:00Z
    """
    client = connect(server)
    planned = client.post(path_of("jobs", find_job(client, job), "backfill"), request_of(fields))
    if as_json:
        output.data_json(planned)
        return
    for due in planned["instants"]:
        output.data(due)
    count, more = planned["count"], planned["count"] - len(planned["instants"])
    if more > 0:
        output.note(f"and {more} more")
    done = "would be run" if planned["dryRun"] else "are being run"
    output.note(f"{count} instants {done}" if count else "nothing is missing there")


def _set_paused(client: ApiClient, job: str, *, paused: bool, as_json: bool) -> None:
    answer = client.patch(path_of("jobs", find_job(client, job)), {"paused": paused})
    if as_json:
        output.data_json(answer)
    else:
        output.note(f"{'paused' if paused else 'resumed'} {answer['jobId']} {answer['name']}")


def _row(job: dict[str, Any]) -> tuple[str, ...]:
    return (
        str(job.get("jobId")),
        str(job.get("name")),
        str(job.get("key") or output.MISSING),
        _schedule(job),
        _next_run(job),
    )


def show_job(job: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        output.data_json(job)
        return
    pairs = [
        ("id", str(job.get("jobId"))),
        ("name", str(job.get("name"))),
        ("key", str(job.get("key") or output.MISSING)),
        ("calls", str(job.get("handlerUrl") or job.get("handler") or output.MISSING)),
        ("schedule", _schedule(job)),
        ("next run", _next_run(job)),
        ("retries", str(job.get("retries"))),
        ("guarantee", str(job.get("guarantee"))),
        ("timeout", _duration(job.get("timeout"))),
        ("queue", f"{job.get('queue')}, priority {job.get('priority')}"),
        ("catch-up", str(job.get("catchUp"))),
        *((name, output.moment(job[key])) for name, key in _WINDOW.items() if job.get(key)),
        *(
            [("calendar", f"{job['calendar']}, {job['calendarRoll']}")]
            if job.get("calendar")
            else ()
        ),
        ("on failure", str((job.get("onFailure") or {}).get("url") or output.MISSING)),
        ("tags", ", ".join(job.get("tags") or []) or output.MISSING),
        ("version", f"{job.get('version')}, {output.moment(job.get('updatedAt'))}"),
    ]
    output.card(pairs)


def _schedule(job: dict[str, Any]) -> str:
    cron = job.get("cronExpr") or job.get("schedule")
    if cron:
        zone = job.get("timezone") or "UTC"
        return str(cron) if zone == "UTC" else f"{cron} ({zone})"
    if job.get("every") is not None:
        return f"every {_duration(job['every'])}"
    if job.get("fixedDelay") is not None:
        return f"{_duration(job['fixedDelay'])} after the last run"
    if job.get("runAt") is not None:
        return f"once, {output.moment(job['runAt'])}"
    if job.get("delay") is not None:
        return f"once, after {_duration(job['delay'])}"
    return "when triggered"


def _next_run(job: dict[str, Any]) -> str:
    if job.get("paused"):
        return "paused"
    due = output.instant_of(job.get("nextRunAt"))
    if due is None:
        return output.MISSING
    return f"{output.moment(job['nextRunAt'])} ({output.relative(due, SystemClock().now())})"


def _duration(value: object) -> str:
    return output.MISSING if value is None else format_duration(parse_duration(value, field="it"))
