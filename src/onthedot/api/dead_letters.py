"""The routes of dead letters: list, read, run again, let go."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Raw

from onthedot.api.http import Request, Response
from onthedot.api.operation import CHANGE, READ, Operation
from onthedot.api.params import CURSOR, LIMIT, cursor_numbers, cursor_of, cursor_text, limit_of
from onthedot.api.responses import answer
from onthedot.api.routing import delete, get, post
from onthedot.api.services import Services
from onthedot.core.instants import format_instant
from onthedot.ids import job_id, parse_job_id, parse_run_id, run_id
from onthedot.store.values import DeadLetter, DeadLetterCursor
from onthedot.wire import (
    DeadLetterDetail,
    DeadLetterList,
    DeadLetterOut,
    DeadLettersDismissed,
    DeadLettersRedriven,
    RunRedriven,
)

BULK_MAX: Final = 1000
"""Letters that one request deals with: more would hold the store up for others."""


@get(
    "/dead-letters",
    Operation(
        tag="Dead letters",
        summary="List the runs that failed for good, the latest first",
        about="Each stays until it is redriven or dismissed, whatever the retention.",
        parameters=(
            LIMIT,
            CURSOR,
        ),
        answers={200: ("One page.", DeadLetterList)},
        problems=(401, 422, 503),
    ),
)
async def list_dead_letters(request: Request, services: Services) -> Response:
    limit, numbers = limit_of(request), cursor_numbers(request, "letters", 3)
    before = None if numbers is None else DeadLetterCursor(*numbers)
    letters = await services.store.dead_letters.page(before=before, limit=limit + 1)
    more = cursor_text("letters", *letters[limit - 1].place) if len(letters) > limit else None
    return answer(_list(letters[:limit], more, services.installation))


@get(
    "/jobs/{job}/dead-letters",
    Operation(
        tag="Dead letters",
        summary="List those of one job, the newest run first",
        about="Those of a deleted job, too.",
        parameters=(
            LIMIT,
            CURSOR,
        ),
        answers={200: ("One page.", DeadLetterList)},
        problems=READ,
    ),
)
async def list_dead_letters_of_job(job: str, request: Request, services: Services) -> Response:
    """Those of a deleted job, too: they wait to be dismissed."""
    number = parse_job_id(job)
    place = f"letters.{number:x}"
    limit, before = limit_of(request), cursor_of(request, place)
    letters = await services.store.dead_letters.of_job(number, before=before, limit=limit + 1)
    if not letters and before is None:
        await services.store.jobs.get(number)
    more = cursor_text(place, letters[limit - 1].run) if len(letters) > limit else None
    return answer(_list(letters[:limit], more, services.installation))


@get(
    "/dead-letters/{run}",
    Operation(
        tag="Dead letters",
        summary="Read a dead letter with its payload",
        answers={200: ("The dead letter.", DeadLetterDetail)},
        problems=(401, 404, 409, 503),
    ),
)
async def get_dead_letter(run: str, services: Services) -> Response:
    letter = await services.store.dead_letters.get(*parse_run_id(run, services.installation))
    payload = None if letter.payload is None else Raw(letter.payload.encode())
    return answer(DeadLetterDetail(**_shown(letter, services.installation), payload=payload))


@delete(
    "/dead-letters/{run}",
    Operation(
        tag="Dead letters",
        summary="Dismiss a dead letter",
        about="The run stays in the history.",
        answers={204: ("Dismissed.", None)},
        problems=CHANGE,
    ),
)
async def dismiss_dead_letter(run: str, services: Services) -> Response:
    await services.store.dead_letters.dismiss(*parse_run_id(run, services.installation))
    return Response(status=204)


@delete(
    "/jobs/{job}/dead-letters",
    Operation(
        tag="Dead letters",
        summary="Dismiss the dead letters of a job",
        about="At most 1000 a request: repeat it while `more` is true. Those of a deleted "
        "job, too.",
        answers={200: ("Dismissed.", DeadLettersDismissed)},
        problems=(401, 403, 404, 503, 507),
    ),
)
async def dismiss_dead_letters_of_job(job: str, services: Services) -> Response:
    number = parse_job_id(job)
    dismissed = await services.store.dead_letters.dismiss_all(number, limit=BULK_MAX)
    if not dismissed:
        # Nothing to dismiss is fine, unless there never was such a job.
        await services.store.jobs.get(number)
    return answer(DeadLettersDismissed(dismissed=dismissed, more=dismissed == BULK_MAX))


@post(
    "/runs/{run}/redrive",
    Operation(
        tag="Dead letters",
        summary="Run a dead letter again",
        about="A new run, with the payload and the `scheduledFor` of the failed one and the "
        "job as it is now; the dead letter is gone then. A repeat is refused with 409, naming the "
        "new run. Works while the job is paused, and is refused with 409 when it was deleted.",
        answers={202: ("The run is made.", RunRedriven)},
        problems=CHANGE,
    ),
)
async def redrive_run(run: str, services: Services) -> Response:
    which = parse_run_id(run, services.installation)
    new = await services.store.dead_letters.redrive(*which, now=services.clock.now())
    services.wake_worker()
    made = _redriven(services.installation, which.job, which.run, new)
    return answer(made, 202, {"Location": f"/v1/runs/{made.run_id}"})


@post(
    "/jobs/{job}/dead-letters/redrive",
    Operation(
        tag="Dead letters",
        summary="Run the dead letters of a job again, oldest first",
        about="At most 1000 a request: repeat it while `more` is true. A job without any is "
        "answered with an empty list.",
        answers={202: ("The runs are made.", DeadLettersRedriven)},
        problems=(401, 403, 404, 503, 507),
    ),
)
async def redrive_dead_letters_of_job(job: str, services: Services) -> Response:
    number = parse_job_id(job)
    pairs = await services.store.dead_letters.redrive_all(
        number, limit=BULK_MAX, now=services.clock.now()
    )
    if pairs:
        services.wake_worker()
    runs = [_redriven(services.installation, number, old, new) for old, new in pairs]
    return answer(DeadLettersRedriven(runs=runs, more=len(runs) == BULK_MAX), 202)


def _redriven(installation: str, job: int, old: int, new: int) -> RunRedriven:
    return RunRedriven(
        run_id=run_id(installation, job, new),
        job_id=job_id(job),
        redrive_of=run_id(installation, job, old),
    )


def _list(letters: list[DeadLetter], more: str | None, installation: str) -> DeadLetterList:
    shown = [DeadLetterOut(**_shown(letter, installation)) for letter in letters]
    return DeadLetterList(dead_letters=shown, next_cursor=more)


def _shown(letter: DeadLetter, installation: str) -> dict[str, Any]:
    return {
        "run_id": run_id(installation, letter.job, letter.run),
        "job_id": job_id(letter.job),
        "job_name": letter.job_name,
        "scheduled_for": format_instant(letter.due),
        "failed_at": format_instant(letter.failed_at),
        "attempt": letter.attempt,
        "error": letter.error,
        "version": letter.version,
    }
