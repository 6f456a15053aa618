"""Reads a history through the public API and from the receiver, once everything is over."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.crash.checker import LIVE
from tests.crash.history import SECOND, Ask, History, Job, Record, Seen
from tests.support.receiver import Receiver
from tests.support.rest import Rest, eventually, instant_us

SETTLE_S = 60.0
PAGE = 100
AT_ONCE = 4


def records_of(rest: Rest, job_ids: Iterable[str]) -> list[Record]:
    """Every run of these jobs, page by page."""

    def of_one(job_id: str) -> list[Record]:
        runs = rest.pages(f"/v1/jobs/{job_id}/runs", "runs", limit=PAGE)
        return [record_of(element) for element in runs]

    with ThreadPoolExecutor(AT_ONCE) as readers:
        return [record for records in readers.map(of_one, job_ids) for record in records]


def history_of(
    rest: Rest,
    receiver: Receiver,
    jobs: Mapping[str, Job],
    breaks: Sequence[int],
    asks: Sequence[Ask] = (),
    wakings: Sequence[int] = (),
) -> History:
    """Everything that can be known, once no run is live any more. The jobs are paused."""
    paused_at = max(job.pause_answered for job in jobs.values())
    records = settled_records(rest, list(jobs), paused_at=paused_at)
    return History(
        jobs=jobs,
        records=records,
        records_again=records_of(rest, list(jobs)),
        seen=seen_by(receiver),
        breaks=breaks,
        wakings=wakings,
        asks=asks,
        jobs_named=ids_by_name(listed_jobs(rest)),
    )


def settled_records(rest: Rest, job_ids: Sequence[str], *, paused_at: int = 0) -> list[Record]:
    """Every run, once none of them is live. What was due before `paused_at` is claimed by then."""
    eventually(
        lambda: time.time_ns() // 1_000 > paused_at + 2 * SECOND, "two seconds after the pause"
    )
    live = list(job_ids)
    settled: list[Record] = []

    def none_is_live() -> bool:
        read = records_of(rest, live)
        live[:] = {record.job_id for record in read if record.status in LIVE}
        settled.extend(record for record in read if record.job_id not in live)
        return not live

    eventually(none_is_live, "the end of every run", within_s=SETTLE_S)
    return settled


def listed_jobs(rest: Rest) -> list[dict[str, Any]]:
    return list(rest.pages("/v1/jobs", "jobs", limit=PAGE))


def ids_by_name(listed: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    named: defaultdict[str, list[str]] = defaultdict(list)
    for job in listed:
        named[job["name"]].append(job["jobId"])
    return dict(named)


def seen_by(receiver: Receiver) -> list[Seen]:
    return [
        Seen(
            at=call.at_ns // 1_000,
            run_id=call.run_id,
            job_id=call.job_id,
            attempt=call.attempt,
            scheduled_for=call.scheduled_for_us,
            key=call.idempotency_key,
            token=payload.get("token"),
            edition=payload.get("edition"),
        )
        for call in receiver.calls()
        for payload in [call.json]
    ]


def record_of(element: dict[str, Any]) -> Record:
    return Record(
        run_id=element["runId"],
        job_id=element["jobId"],
        status=element["status"],
        scheduled_for=instant_us(element["scheduledFor"]),
        started=_instant(element["startedAt"]),
        finished=_instant(element["finishedAt"]),
        attempt=element["attempt"],
        rescues=element["rescues"],
        until=_instant(element["until"]),
        redrive_of=element["redriveOf"],
    )


def _instant(text: str | None) -> int | None:
    return None if text is None else instant_us(text)
