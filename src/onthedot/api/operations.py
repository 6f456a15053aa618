"""What the API can do, one entry an operation. The OpenAPI document is made from this table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import Struct

from onthedot.wire import (
    AuditOut,
    DeadLetterDetail,
    DeadLetterList,
    EditOut,
    HealthOut,
    JobIn,
    JobList,
    JobOut,
    JobPatch,
    LettersDismissed,
    LettersRedriven,
    LiveOut,
    NodeList,
    OverviewOut,
    PreviewIn,
    PreviewOut,
    RunCancelled,
    RunCreated,
    RunDetail,
    RunList,
    RunLogs,
    RunRedriven,
    RunsCreated,
    TriggerIn,
    TriggerManyIn,
    WhyOut,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """`answers`: what each status means and carries, `or_answer`: or this, if so asked.
    `problems`: those it may refuse with.
    """

    id: str
    method: str
    path: str
    tag: str
    summary: str
    description: str = ""
    parameters: tuple[str, ...] = ()
    body: type[Struct] | None = None
    body_required: bool = True
    example: Any = None
    answers: dict[int, tuple[str, type[Struct] | None]] = field(default_factory=dict)
    or_answer: type[Struct] | None = None
    problems: tuple[int, ...] = ()


_READ: Final = (401, 404, 422, 503)
_CHANGE: Final = (401, 403, 404, 409, 503, 507)
_WRITE: Final = (400, 401, 403, 413, 422, 503, 507)

OPERATIONS: Final = (
    Operation(
        id="createJob",
        method="post",
        path="/v1/jobs",
        tag="Jobs",
        summary="Create a job",
        description="With at most one of `cronExpr`, `every`, `runAt`, `delay`, `schedule`; "
        "without any it runs only when triggered. A 201 is durable.",
        parameters=("idempotencyKey",),
        body=JobIn,
        example={
            "name": "nightly report",
            "cronExpr": "0 2 * * *",
            "timezone": "Europe/Berlin",
            "handlerUrl": "https://example.com/hooks/report",
            "payload": {"report": "nightly"},
        },
        answers={201: ("Created.", JobOut)},
        problems=(*_WRITE, 409),
    ),
    Operation(
        id="listJobs",
        method="get",
        path="/v1/jobs",
        tag="Jobs",
        summary="List jobs, newest first",
        parameters=("limit", "cursor", "key"),
        answers={200: ("One page.", JobList)},
        problems=(401, 422, 503),
    ),
    Operation(
        id="getJob",
        method="get",
        path="/v1/jobs/{jobId}",
        tag="Jobs",
        summary="Read a job",
        parameters=("jobId",),
        answers={200: ("The job; its version is also the `ETag`.", JobOut)},
        problems=(401, 404, 503),
    ),
    Operation(
        id="editJob",
        method="patch",
        path="/v1/jobs/{jobId}",
        tag="Jobs",
        summary="Edit, pause or resume a job",
        description="What is left out stays as it is. Every edit is a new version and holds for "
        "occurrences due later than one second after the answer, usually at once.",
        parameters=("jobId", "ifMatch", "dryRun"),
        body=JobPatch,
        example={"paused": True},
        answers={200: ("The job after the edit; with `dryRun`, old against new.", JobOut)},
        or_answer=EditOut,
        problems=(*_WRITE, 404, 409),
    ),
    Operation(
        id="deleteJob",
        method="delete",
        path="/v1/jobs/{jobId}",
        tag="Jobs",
        summary="Delete a job",
        description="Runs that wait are cancelled. The history stays: runs can be read by id.",
        parameters=("jobId", "ifMatch"),
        answers={204: ("Deleted.", None)},
        problems=(401, 403, 404, 409, 422, 503, 507),
    ),
    Operation(
        id="previewSchedule",
        method="post",
        path="/v1/schedules/preview",
        tag="Jobs",
        summary="Try a schedule out",
        description="What it says in words, its normal form, and the next instants, with marks.",
        body=PreviewIn,
        example={"cronExpr": "30 2 * * *", "timezone": "Europe/Berlin", "count": 3},
        answers={200: ("The schedule explained.", PreviewOut)},
        problems=(400, 401, 403, 413, 422),
    ),
    Operation(
        id="triggerJob",
        method="post",
        path="/v1/jobs/{jobId}/trigger",
        tag="Runs",
        summary="Run a job now or later",
        description="Works while the job is paused. The body may be left out.",
        parameters=("jobId", "idempotencyKey"),
        body=TriggerIn,
        body_required=False,
        example={"payload": {"report": "now"}, "delay": 30},
        answers={202: ("The run is made.", RunCreated)},
        problems=(*_WRITE, 404),
    ),
    Operation(
        id="triggerJobMany",
        method="post",
        path="/v1/jobs/{jobId}/trigger-many",
        tag="Runs",
        summary="Run a job many times, all or none",
        description="Up to 1000 runs in one request of at most 256 KB, in one transaction: with a "
        "202 all of them are made, otherwise none is.",
        parameters=("jobId", "idempotencyKey"),
        body=TriggerManyIn,
        example={"runs": [{"payload": {"to": "ana"}}, {"payload": {"to": "bo"}, "delay": 30}]},
        answers={202: ("The runs are made.", RunsCreated)},
        problems=(*_WRITE, 404),
    ),
    Operation(
        id="listRuns",
        method="get",
        path="/v1/jobs/{jobId}/runs",
        tag="Runs",
        summary="List the runs of a job, newest first",
        parameters=("jobId", "limit", "cursor"),
        answers={200: ("One page, live runs included.", RunList)},
        problems=_READ,
    ),
    Operation(
        id="getRun",
        method="get",
        path="/v1/runs/{runId}",
        tag="Runs",
        summary="Read a run with its attempts",
        parameters=("runId",),
        answers={200: ("The run.", RunDetail)},
        problems=(401, 404, 503),
    ),
    Operation(
        id="getRunLogs",
        method="get",
        path="/v1/runs/{runId}/logs",
        tag="Runs",
        summary="Read what a run has printed and logged",
        description="While it is under way, too: ask again with `after` set to what the last answer"
        " says is `next`, until the `status` says that it is over.",
        parameters=("runId", "after"),
        answers={200: ("Its lines, first to last.", RunLogs)},
        problems=_READ,
    ),
    Operation(
        id="cancelRun",
        method="post",
        path="/v1/runs/{runId}/cancel",
        tag="Runs",
        summary="Cancel a run",
        parameters=("runId",),
        answers={
            200: ("It is cancelled and will never start.", RunCancelled),
            202: ("A node holds it and has been told.", RunCancelled),
        },
        problems=_CHANGE,
    ),
    Operation(
        id="redriveRun",
        method="post",
        path="/v1/runs/{runId}/redrive",
        tag="Dead letters",
        summary="Run a dead letter again",
        description="A new run, with the payload and the `scheduledFor` of the failed one and the "
        "job as it is now; the dead letter is gone then. A repeat is refused with 409, naming the "
        "new run. Works while the job is paused, and is refused with 409 when it was deleted.",
        parameters=("runId",),
        answers={202: ("The run is made.", RunRedriven)},
        problems=_CHANGE,
    ),
    Operation(
        id="listDeadLetters",
        method="get",
        path="/v1/dead-letters",
        tag="Dead letters",
        summary="List the runs that failed for good, the latest first",
        description="Each stays until it is redriven or dismissed, whatever the retention.",
        parameters=("limit", "cursor"),
        answers={200: ("One page.", DeadLetterList)},
        problems=(401, 422, 503),
    ),
    Operation(
        id="listDeadLettersOfJob",
        method="get",
        path="/v1/jobs/{jobId}/dead-letters",
        tag="Dead letters",
        summary="List those of one job, the newest run first",
        description="Those of a deleted job, too.",
        parameters=("jobId", "limit", "cursor"),
        answers={200: ("One page.", DeadLetterList)},
        problems=_READ,
    ),
    Operation(
        id="getDeadLetter",
        method="get",
        path="/v1/dead-letters/{runId}",
        tag="Dead letters",
        summary="Read a dead letter with its payload",
        parameters=("runId",),
        answers={200: ("The dead letter.", DeadLetterDetail)},
        problems=(401, 404, 409, 503),
    ),
    Operation(
        id="dismissDeadLetter",
        method="delete",
        path="/v1/dead-letters/{runId}",
        tag="Dead letters",
        summary="Dismiss a dead letter",
        description="The run stays in the history.",
        parameters=("runId",),
        answers={204: ("Dismissed.", None)},
        problems=_CHANGE,
    ),
    Operation(
        id="redriveDeadLettersOfJob",
        method="post",
        path="/v1/jobs/{jobId}/dead-letters/redrive",
        tag="Dead letters",
        summary="Run the dead letters of a job again, oldest first",
        description="At most 1000 a request: repeat it while `more` is true. A job without any is "
        "answered with an empty list.",
        parameters=("jobId",),
        answers={202: ("The runs are made.", LettersRedriven)},
        problems=(401, 403, 404, 503, 507),
    ),
    Operation(
        id="dismissDeadLettersOfJob",
        method="delete",
        path="/v1/jobs/{jobId}/dead-letters",
        tag="Dead letters",
        summary="Dismiss the dead letters of a job",
        description="At most 1000 a request: repeat it while `more` is true. Those of a deleted "
        "job, too.",
        parameters=("jobId",),
        answers={200: ("Dismissed.", LettersDismissed)},
        problems=(401, 403, 404, 503, 507),
    ),
    Operation(
        id="explainJob",
        method="get",
        path="/v1/jobs/{jobId}/why",
        tag="Jobs",
        summary="Why a job does not run",
        description="Ordered checks, each with what was found and the fix.",
        parameters=("jobId",),
        answers={200: ("The explanation.", WhyOut)},
        problems=(401, 404, 503),
    ),
    Operation(
        id="explainRun",
        method="get",
        path="/v1/runs/{runId}/why",
        tag="Runs",
        summary="Why a run is where it is",
        description="Ordered checks, each with what was found and the fix.",
        parameters=("runId",),
        answers={200: ("The explanation.", WhyOut)},
        problems=(401, 404, 503),
    ),
    Operation(
        id="auditJob",
        method="get",
        path="/v1/jobs/{jobId}/audit",
        tag="Audit",
        summary="Prove that every due occurrence of a job is accounted for",
        description="What was due is worked out anew over all versions of the job, a deleted one "
        "too, since its creation or as far as history is kept, and each instant is looked up. One "
        "request goes through 20,000 instants: follow `nextCursor` for the rest, and add up.",
        parameters=("jobId", "cursor"),
        answers={200: ("One part of the books.", AuditOut)},
        problems=_READ,
    ),
    Operation(
        id="auditAll",
        method="get",
        path="/v1/audit",
        tag="Audit",
        summary="The same for all jobs",
        description="Deleted ones, too. Follow `nextCursor` for the rest, and add up.",
        parameters=("cursor",),
        answers={200: ("One part of the books.", AuditOut)},
        problems=(401, 422, 503),
    ),
    Operation(
        id="listNodes",
        method="get",
        path="/v1/nodes",
        tag="Server",
        summary="List nodes, newest first",
        description="Every server process that is remembered, the dead ones too; they are "
        "forgotten with the history of their time.",
        parameters=("limit", "cursor"),
        answers={200: ("One page.", NodeList)},
        problems=(401, 422, 503),
    ),
    Operation(
        id="getOverview",
        method="get",
        path="/v1/overview",
        tag="Server",
        summary="What the page at / shows",
        description="For the page: it changes with the page, without notice.",
        answers={200: ("The state of things.", OverviewOut)},
        problems=(401, 503),
    ),
    Operation(
        id="getMetrics",
        method="get",
        path="/metrics",
        tag="Server",
        summary="Metrics for Prometheus",
        description="In the text format 0.0.4: what this process has counted, and the state of the "
        "whole cluster, read from the database at most once a second.",
        answers={200: ("Text, not JSON.", None)},
        problems=(401,),
    ),
    Operation(
        id="getHealth",
        method="get",
        path="/health",
        tag="Server",
        summary="Is the node up, and are its roles working",
        answers={200: ("All is well.", HealthOut), 503: ("`problems` says why not.", HealthOut)},
    ),
    Operation(
        id="getReadiness",
        method="get",
        path="/health/ready",
        tag="Server",
        summary="The same, for readiness probes",
        answers={200: ("Ready.", HealthOut), 503: ("`problems` says why not.", HealthOut)},
    ),
    Operation(
        id="getLiveness",
        method="get",
        path="/health/live",
        tag="Server",
        summary="Does the process answer",
        answers={200: ("It does.", LiveOut)},
    ),
)
