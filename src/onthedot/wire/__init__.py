"""The shapes of the API, shared by the server and the SDK, and the checks at its door."""

from onthedot.wire.audit import AuditOut, FaultOut
from onthedot.wire.definitions import (
    definition_of,
    patched,
    trigger_due,
    trigger_payload,
    triggers,
)
from onthedot.wire.edits import EditOut, edit_out
from onthedot.wire.jobs import BackoffIn, BackoffOut, JobIn, JobList, JobOut, JobPatch, job_out
from onthedot.wire.letters import (
    DeadLetterDetail,
    DeadLetterList,
    DeadLetterOut,
    LettersDismissed,
    LettersRedriven,
    RunRedriven,
)
from onthedot.wire.nodes import LoadOut, NodeList, NodeOut
from onthedot.wire.previews import ComingOut, PreviewIn, PreviewOut, preview_of
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
    TriggerIn,
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
    "EditOut",
    "FaultOut",
    "FindingOut",
    "HealthOut",
    "JobIn",
    "JobList",
    "JobOut",
    "JobPatch",
    "LatenessOut",
    "LettersDismissed",
    "LettersRedriven",
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
    "read",
    "trigger_due",
    "trigger_payload",
    "triggers",
    "why_out",
]
