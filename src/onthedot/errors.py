"""Every error of onthedot, in one tree. Each says what happened, with the value, and what to do.

OnthedotError
├── Refused                what the caller asked cannot be done; nothing was written
│   ├── Invalid            a field is wrong (HTTP 422)
│   │   ├── InvalidSchedule · InvalidCron · InvalidTimezone · InvalidInstant · InvalidDuration
│   │   ├── InvalidCalendar      a rule of a calendar is wrong, or there are too many
│   │   ├── NeverFires           a well-formed schedule without a single instant
│   │   ├── RebootUnsupported    `@reboot`: well-formed, but a job belongs to no machine
│   │   ├── NotAvailableYet      a value the contract knows and this version does not do
│   │   └── IdempotencyMismatch  the same Idempotency-Key with another request
│   ├── NotFound           no such job or run, or it was deleted (404)
│   └── Conflict           it is there, but not in a state that allows this (409)
│       ├── KeyTaken             another job has this `key`
│       ├── VersionConflict      the job or calendar was edited meanwhile
│       ├── CalendarInUse        jobs follow the calendar that is to be deleted
│       ├── RunOver              the run has already ended
│       ├── LeaseLost            an attempt no longer holds its run, or has completed it already
│       ├── StatementFailed      the database does not take what a function wants to write
│       ├── NotDead              the run has no dead letter: it did not fail, or was dealt with
│       └── JobDeleted           the run's job is gone, so that nobody can run it again
├── StoreError             the database could not do it
│   ├── StoreUnavailable   gone, locked or too slow: try again later (503)
│   │   ├── StoreReplaced  the database file was deleted or replaced while it is open
│   │   └── StoreLost      what the store needs in this process has ended: the process must end
│   ├── StoreFull          the disk is full (507)
│   ├── SchemaMismatch     the database was made by another version
│   ├── Taken              somebody else changed what a plan was made from: read and plan again
│   └── NodeDead           this node was declared dead: nothing of it is accepted any more
│       └── StoreWentBack  the database is older than it was: what was remembered of it is wrong
├── LoopEnded              a loop of a role ended although nobody told it to
└── CannotStart            the server cannot start as it was asked to
    ├── DatabaseAway       the database does not answer just now
    └── WrongUse           the settings or the command line are wrong (exit code 2)
"""

from __future__ import annotations


class OnthedotError(Exception):
    """Base of all. `hint` is the next step; `field` names what is at fault, where one thing is."""

    def __init__(self, message: str, *, hint: str = "", field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.field = field


class Refused(OnthedotError):
    pass


class Invalid(Refused):
    """`position`: the character of the value that is at fault, from 1, where it is known."""

    position: int | None = None


class InvalidSchedule(Invalid):
    pass


class InvalidCron(Invalid):
    pass


class InvalidTimezone(Invalid):
    pass


class InvalidInstant(Invalid):
    pass


class InvalidDuration(Invalid):
    pass


class InvalidCalendar(Invalid):
    pass


class NeverFires(Invalid):
    pass


class TooCostly(Invalid):
    pass


class RebootUnsupported(Invalid):
    pass


class NotAvailableYet(Invalid):
    pass


class IdempotencyMismatch(Invalid):
    pass


class NotFound(Refused):
    pass


class Conflict(Refused):
    pass


class KeyTaken(Conflict):
    pass


class VersionConflict(Conflict):
    pass


class CalendarInUse(Conflict):
    pass


class RunOver(Conflict):
    pass


class LeaseLost(Conflict):
    pass


class StatementFailed(Conflict):
    pass


class NotDead(Conflict):
    pass


class JobDeleted(Conflict):
    pass


class StoreError(OnthedotError):
    pass


class StoreUnavailable(StoreError):
    pass


class StoreReplaced(StoreUnavailable):
    pass


class StoreLost(StoreUnavailable):
    pass


class StoreFull(StoreError):
    pass


class SchemaMismatch(StoreError):
    pass


class Taken(StoreError):
    pass


class NodeDead(StoreError):
    pass


class StoreWentBack(NodeDead):
    pass


class LoopEnded(OnthedotError):
    pass


class CannotStart(OnthedotError):
    pass


class DatabaseAway(CannotStart):
    pass


class WrongUse(CannotStart):
    pass
