"""From what the store says to what the caller reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from onthedot.api.http import Response
from onthedot.core.instants import format_instant
from onthedot.core.views import AttemptView, RunView
from onthedot.ids import job_id, run_id
from onthedot.store.notes import LogRow
from onthedot.store.values import RunStory
from onthedot.wire import AttemptOut, LineOut, ProgressOut, RunDetail, RunOut
from onthedot.wire.converting import instant_text


def answer(
    value: msgspec.Struct, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    return json_text(msgspec.json.encode(value), status, headers)


def json_text(text: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(text, status, headers=headers)


def run_out(view: RunView, installation: str) -> RunOut:
    return RunOut(**run_fields(view, installation))


def run_detail(story: RunStory, installation: str) -> RunDetail:
    return RunDetail(
        **run_fields(story.run, installation),
        nominal=instant_text(story.moved.nominal),
        not_before=instant_text(story.moved.not_before),
        attempts=[_attempt_out(attempt) for attempt in story.attempts],
    )


def run_fields(view: RunView, installation: str) -> dict[str, Any]:
    """A run as every answer shows it."""
    return {
        "run_id": run_id(installation, view.job, view.run),
        "job_id": job_id(view.job),
        "status": view.status,
        "scheduled_for": format_instant(view.due),
        "started_at": instant_text(view.started_at),
        "finished_at": instant_text(view.finished_at),
        "node_id": _node_id(view.node),
        "attempt": view.attempt,
        "error": view.error,
        "output": view.output,
        "reason": view.reason,
        "until": instant_text(view.until),
        "count": view.count,
        "rescues": view.rescues,
        "version": view.version,
        "progress": None
        if view.progress is None
        else ProgressOut(
            done=view.progress.done, total=view.progress.total, text=view.progress.text
        ),
        "redrive_of": None
        if view.redrive_of is None
        else run_id(installation, view.job, view.redrive_of),
        "backfill_of": instant_text(view.backfill_of),
    }


_LINES = msgspec.json.Decoder(list[tuple[int, str, str]])


def lines_out(row: LogRow) -> list[LineOut]:
    return [
        LineOut(at=format_instant(at), attempt=row.attempt, level=level, text=text)
        for at, level, text in _LINES.decode(row.lines)
    ]


def _attempt_out(view: AttemptView) -> AttemptOut:
    return AttemptOut(
        attempt=view.attempt,
        status=view.status,
        started_at=instant_text(view.started_at),
        finished_at=instant_text(view.finished_at),
        node_id=_node_id(view.node),
        error=view.error,
        output=view.output,
        reason=view.reason,
    )


def _node_id(number: int | None) -> str | None:
    return None if number is None else str(number)
