"""When a job is due: cron expressions, intervals and more, as pure functions of instants."""

from onthedot.core.schedules.allowed import Allowed, Roll
from onthedot.core.schedules.calendar import Calendar
from onthedot.core.schedules.cron import Cron
from onthedot.core.schedules.every import EVERY_MIN, Every
from onthedot.core.schedules.fixed_delay import FixedDelay
from onthedot.core.schedules.once import Once
from onthedot.core.schedules.preview import PreviewedOccurrence, coming, to_come
from onthedot.core.schedules.reading import read_cron, read_schedule
from onthedot.core.schedules.repeat import Repeat, Step
from onthedot.core.schedules.span import (
    COUNT_MAX,
    Schedule,
    Span,
    Timetable,
    dues,
    latest,
    nth,
    span,
)
from onthedot.core.schedules.spec import from_spec, to_spec
from onthedot.core.schedules.terms import Terms
from onthedot.core.schedules.wall import DstGap, DstOverlap
from onthedot.core.schedules.within import Within
from onthedot.core.schedules.words import explain, normal_form

__all__ = [
    "COUNT_MAX",
    "EVERY_MIN",
    "Allowed",
    "Calendar",
    "Cron",
    "DstGap",
    "DstOverlap",
    "Every",
    "FixedDelay",
    "Once",
    "PreviewedOccurrence",
    "Repeat",
    "Roll",
    "Schedule",
    "Span",
    "Step",
    "Terms",
    "Timetable",
    "Within",
    "coming",
    "dues",
    "explain",
    "from_spec",
    "latest",
    "normal_form",
    "nth",
    "read_cron",
    "read_schedule",
    "span",
    "to_come",
    "to_spec",
]
