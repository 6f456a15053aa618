"""The shapes of the API, shared by the server and the SDK, and the checks at its door."""

from onthedot.wire.audit import AuditOut, FaultOut
from onthedot.wire.dead_letters import (
    DeadLetterDetail,
    DeadLetterList,
    DeadLetterOut,
    DeadLettersDismissed,
    DeadLettersRedriven,
    RunRedriven,
)
from onthedot.wire.definitions import (
    definition_of,
    patched,
    trigger_due,
    trigger_payload,
    triggers,
)
from onthedot.wire.edits import EditOut, edit_out
from onthedot.wire.jobs import JobList, job_out
from onthedot.wire.nodes import LoadOut, NodeList, NodeOut
from onthedot.wire.previews import ComingOut, PreviewOut, preview_of, preview_out
from onthedot.wire.reading import Malformed, payload_text, read
from onthedot.wire.runs import (
    AttemptOut,
    LineOut,
    ProgressOut,
    RunCancelled,
    RunCreated,
    RunDetail,
    RunList,
    RunLogs,
    RunOut,
    RunsCreated,
    TriggerManyIn,
)
from onthedot.wire.server import (
    HealthOut,
    LatenessOut,
    LiveOut,
    OverviewOut,
    OverviewRun,
    Problem,
    UpcomingOut,
)
from onthedot.wire.shapes import (
    BackoffIn,
    BackoffOut,
    JobIn,
    JobOut,
    JobPatch,
    PreviewIn,
    TriggerIn,
)
from onthedot.wire.why import FindingOut, WhyOut, why_out

__all__ = [
    "AttemptOut",
    "AuditOut",
    "BackoffIn",
    "BackoffOut",
    "ComingOut",
    "DeadLetterDetail",
    "DeadLetterList",
    "DeadLetterOut",
    "DeadLettersDismissed",
    "DeadLettersRedriven",
    "EditOut",
    "FaultOut",
    "FindingOut",
    "HealthOut",
    "JobIn",
    "JobList",
    "JobOut",
    "JobPatch",
    "LatenessOut",
    "LineOut",
    "LiveOut",
    "LoadOut",
    "Malformed",
    "NodeList",
    "NodeOut",
    "OverviewOut",
    "OverviewRun",
    "PreviewIn",
    "PreviewOut",
    "Problem",
    "ProgressOut",
    "RunCancelled",
    "RunCreated",
    "RunDetail",
    "RunList",
    "RunLogs",
    "RunOut",
    "RunRedriven",
    "RunsCreated",
    "TriggerIn",
    "TriggerManyIn",
    "UpcomingOut",
    "WhyOut",
    "definition_of",
    "edit_out",
    "job_out",
    "patched",
    "payload_text",
    "preview_of",
    "preview_out",
    "read",
    "trigger_due",
    "trigger_payload",
    "triggers",
    "why_out",
]
