"""How a field of a job is declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, Flag, auto
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin

from onthedot.core.instants import SECOND
from onthedot.core.model import Definition


class Kind(Enum):
    """How a value is written in JSON, and how a definition keeps it."""

    PLAIN = auto()
    """The same in both."""
    DURATION = auto()
    """Seconds or an ISO 8601 duration; kept in microseconds, shown in seconds."""
    INSTANT = auto()
    """RFC 3339; kept in microseconds since the epoch."""
    ZONE = auto()
    """The name of a time zone that is known."""
    WORDS = auto()
    """A list of texts; kept without repeats."""
    JSON = auto()
    """Any JSON value; kept as its text."""
    OBJECT = auto()
    """An object with `members`."""


class Where(Flag):
    """Where a field may be set. Nowhere: the server sets it."""

    CREATE = auto()
    EDIT = auto()
    PREVIEW = auto()
    TRIGGER = auto()
    CODE = auto()
    """By `@app.job`."""
    NOWHERE = 0
    JOB = CREATE | EDIT | CODE
    SCHEDULE = JOB | PREVIEW


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a job, from which the API, the command line, the SDK and the reference are made.

    `about`: what it means; its first sentence is the help of the option. `at`: where a definition
    keeps it (`timeout_us`, `shift.jitter_us`), from which its default comes, too; empty: code of
    its own in wire/ reads and shows it. `limits` are msgspec's; `least_us` and `most_us` those of a
    duration. `says` completes the sentence "timeout must be …, not …" where the type does not tell
    enough.
    """

    name: str
    type: Any = str
    about: str
    kind: Kind = Kind.PLAIN
    at: str = ""
    where: Where = Where.JOB
    nullable: bool = False
    required: bool = False
    shown: bool = True
    otherwise: Any = None
    """The default of what no definition keeps."""
    schedule: bool = False
    """Says when a job is due: at most one of these may be given."""
    recurs: bool = False
    """Only for a schedule that recurs."""
    limits: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    least_us: int = 0
    most_us: int | None = None
    pattern: str = ""
    says: str = ""
    hint: str = ""
    later: str = ""
    """The hint for text that this version does not understand yet."""
    examples: tuple[Any, ...] = ()
    members: tuple[Field, ...] = ()
    shorthand: str = ""
    """The member that a text in place of the object stands for, in the SDK and as an option."""
    option: str = ""
    keyword: str = ""
    see: str = ""
    """Where in docs/ there is more about it."""

    @property
    def wire_name(self) -> str:
        first, *rest = self.name.split("_")
        return first + "".join(part.capitalize() for part in rest)

    @property
    def help(self) -> str:
        """The first sentence."""
        return self.about.partition(". ")[0].rstrip(".") + "."

    @property
    def default(self) -> Any:
        """As the API shows it. None: there is none."""
        if self.members and not self.nullable:
            return {each.name: each.default for each in self.members}
        if not self.at or self.required:
            return self.otherwise
        kept = attrgetter(self.at)(Definition(name=""))
        if self.kind is Kind.DURATION and kept is not None:
            kept /= SECOND
        if self.kind is Kind.JSON:
            return {}
        if self.kind is Kind.WORDS:
            return list(kept)
        return int(kept) if isinstance(kept, float) and kept.is_integer() else kept

    @property
    def expects(self) -> str:
        if self.says:
            return self.says
        said, null = _expected(self), ", or null"
        if get_origin(self.type) is Literal:
            *others, last = [repr(each) for each in get_args(self.type)]
            if self.nullable:
                others, last = [*others, last], "null"
            said, null = f"{', '.join(others)} or {last}" if others else last, ""
        return said + null if self.nullable else said


def _expected(declared: Field) -> str:
    match declared.kind, declared.type:
        case Kind.DURATION, _:
            return "a number of seconds or an ISO 8601 duration such as 'PT5M'"
        case Kind.INSTANT, _:
            return "an RFC 3339 instant such as '2027-01-31T09:30:00Z'"
        case _, kind if kind is int and "le" in declared.limits:
            return f"an integer from {declared.limits['ge']} to {declared.limits['le']}"
        case _, kind if kind is bool:
            return "true or false"
    return "text"
