"""When a job is due: cron expressions and intervals, as pure functions of instants."""

from onthedot.core.schedules.cron import Cron
from onthedot.core.schedules.cron_program import DstGap, DstOverlap
from onthedot.core.schedules.every import EVERY_MIN, Every
from onthedot.core.schedules.reading import read_schedule
from onthedot.core.schedules.span import COUNT_MAX, Schedule, Span, latest, span
from onthedot.core.schedules.spec import explain, from_spec, to_spec

__all__ = [
    "COUNT_MAX",
    "EVERY_MIN",
    "Cron",
    "DstGap",
    "DstOverlap",
    "Every",
    "Schedule",
    "Span",
    "explain",
    "from_spec",
    "latest",
    "read_schedule",
    "span",
    "to_spec",
]
