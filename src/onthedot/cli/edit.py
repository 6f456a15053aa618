"""`onthedot job edit`: change a job, or see first what a change would do."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import click

from onthedot.cli import output
from onthedot.cli.client import connect, find_job, path_of
from onthedot.cli.fields import field_options, request_of
from onthedot.cli.job import show_job
from onthedot.cli.values import remote
from onthedot.core.fields import Where
from onthedot.errors import WrongUse


@click.command("edit")
@click.argument("job")
@field_options(Where.EDIT)
@click.option("--dry-run", is_flag=True, help="Only show old against new.")
@remote
def edit(job: str, server: str | None, as_json: bool, dry_run: bool, **fields: Any) -> None:
    """Change what is given of a job; the rest stays. Every edit is a new version.

    \b
    Examples:
      onthedot job edit report --schedule "every weekday at 9am" --dry-run
      onthedot job edit report --schedule "every weekday at 9am"
      onthedot job edit heartbeat --every 30 --retries 0
    """
    changes = request_of(fields)
    if not changes:
        raise WrongUse("nothing to change is given", hint="onthedot job edit --help")
    client = connect(server)
    path = path_of("jobs", find_job(client, job))
    answer = client.patch(f"{path}?dryRun=true" if dry_run else path, changes)
    if not dry_run:
        show_job(answer, as_json=as_json)
    elif as_json:
        output.data_json(answer)
    else:
        _compare(answer)


def _compare(answer: dict[str, Any]) -> None:
    if not answer["changes"]:
        output.note("Nothing would change.")
        return
    rows = [(each["field"], _shown(each["old"]), _shown(each["new"])) for each in answer["changes"]]
    output.table(("FIELD", "OLD", "NEW"), rows)
    old, new = (answer[which] or {} for which in ("old", "new"))
    if old == new:
        return
    output.data("")
    said = [(_shown(old.get("sentence")), _shown(new.get("sentence")))]
    dues = zip_longest(_instants(old), _instants(new), fillvalue=output.MISSING)
    output.table(("OLD SCHEDULE", "NEW SCHEDULE"), [*said, *dues])


def _instants(preview: dict[str, Any]) -> list[str]:
    return [output.moment(each["at"]) for each in preview.get("instants", [])]


def _shown(value: object) -> str:
    return output.MISSING if value is None else str(value)
