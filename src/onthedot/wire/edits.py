"""An edit before it applies: what would change, and when the job would be due."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from onthedot.core.fields.when import PREVIEWED_DEFAULT
from onthedot.core.instants import Instant
from onthedot.core.model import Job
from onthedot.wire.jobs import job_out
from onthedot.wire.previews import Previewed, PreviewOut, preview_out
from onthedot.wire.reading import SET_BY_SERVER


class ChangeOut(Struct, kw_only=True, frozen=True, rename="camel"):
    """A field, as it is and as it would be."""

    field: str
    old: Any
    new: Any


Preview = Annotated[
    PreviewOut | None, Meta(description="What is to come; null without a schedule, or paused.")
]


class EditOut(Struct, kw_only=True, frozen=True, rename="camel"):
    """What an edit would do. `version` is the one it would replace."""

    job_id: str
    version: int
    changes: list[ChangeOut]
    old: Preview
    new: Preview


def edit_out(old: Job, new: Job, job_id: str, *, now: Instant) -> EditOut:
    """`new` is the job after the edit; what is due until its beginning is still the old one's."""
    was, would_be = _fields(old, job_id, now), _fields(new, job_id, now)
    return EditOut(
        job_id=job_id,
        version=old.version,
        # What the server sets follows from every edit, or from a change that is listed itself.
        changes=[
            ChangeOut(field=name, old=value, new=would_be[name])
            for name, value in was.items()
            if value != would_be[name] and name not in SET_BY_SERVER
        ],
        old=_preview(old, now),
        new=_preview(new, max(now, new.since) if new is not old else now),
    )


def _fields(job: Job, job_id: str, now: Instant) -> dict[str, Any]:
    shown = msgspec.json.encode(job_out(job, job_id, now=now))
    return msgspec.json.decode(shown, type=dict[str, Any])


def _preview(job: Job, after: Instant) -> PreviewOut | None:
    if job.definition.schedule is None or job.definition.paused:
        return None
    return preview_out(Previewed(job.definition, after, PREVIEWED_DEFAULT, job.anchor, job))
