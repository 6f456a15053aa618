"""A job in requests and answers: structs made from the fields that core/fields declares.

What mypy and editors know of them is in shapes.pyi, which `python3 dev.py fields` writes.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any, TypedDict

from msgspec import UNSET, Meta, UnsetType, defstruct

from onthedot.core.fields import FIELDS, Field, Kind, Where, declared
from onthedot.core.fields.what import WORD
from onthedot.wire.fields import about

_INSTANTS = ("2027-01-31T09:30:00Z",)
_TAG = Annotated[str, Meta(min_length=1, max_length=50, extra_json_schema={"pattern": f"^{WORD}$"})]


def _asked(name: str, where: Where, doc: str) -> Any:
    """A struct of a request: what may be left out is UNSET then; unknown names are refused."""
    # What an edit leaves out stays as it is, and what a trigger leaves out is the job's: there is
    # no default.
    is_whole = where in (Where.CREATE, Where.PREVIEW)
    return _request(name, declared(where), doc, is_whole=is_whole)


def _request(name: str, fields: tuple[Field, ...], doc: str, *, is_whole: bool = True) -> Any:
    made: list[Any] = []
    for each in fields:
        kind = _described(_asked_type(each), _meta(each, with_default=is_whole), each)
        needed = each.required and is_whole
        made.append((each.name, kind) if needed else (each.name, kind | UnsetType, UNSET))
    return _struct(name, made, doc, forbid_unknown_fields=True)


def _answer(name: str, fields: tuple[Field, ...], doc: str) -> Any:
    made: list[Any] = []
    for each in fields:
        said, examples, form = each.about, each.examples, {}
        if each.kind is Kind.DURATION:
            said, examples = f"{said} In seconds.", ()
        elif each.kind is Kind.INSTANT:
            examples, form = examples or _INSTANTS, {"format": "date-time"}
        meta = Meta(description=said, examples=list(examples) or None, extra_json_schema=form)
        made.append((each.name, _described(_answered_type(each), meta, each)))
    return _struct(name, made, doc, frozen=True)


def _described(kind: Any, meta: Meta, field: Field) -> Any:
    if not field.nullable:
        return Annotated[kind, meta]
    # Limits belong to the value. What is said of an object gets lost unless said of the whole.
    return Annotated[kind | None, meta] if field.members else Annotated[kind, meta] | None


def _struct(name: str, fields: list[Any], doc: str, **more: Any) -> Any:
    own = {"__doc__": doc}
    return defstruct(
        name, fields, kw_only=True, rename="camel", module=__name__, namespace=own, **more
    )


def _meta(field: Field, *, with_default: bool) -> Meta:
    more = dict(field.limits)
    if field.pattern:
        more |= {"pattern": field.pattern, "of_elements": field.kind is Kind.WORDS}
    if with_default and field.default is not None and not field.members:
        more["default"] = field.default
    if field.examples:
        more["examples"] = list(field.examples)
    return about(field.about, field.expects, hint=field.hint, later=field.later, **more)


def _asked_type(field: Field) -> Any:
    match field.kind:
        case Kind.DURATION:
            return float | str
        case Kind.WORDS:
            return list[_TAG]
        case Kind.OBJECT:
            return _MEMBERS_IN[field.name]
    return field.type


def _answered_type(field: Field) -> Any:
    match field.kind:
        case Kind.DURATION:
            return float
        case Kind.WORDS:
            return tuple[str, ...]
        case Kind.OBJECT:
            return _MEMBERS_OUT[field.name]
    # What has more values in a later version must not break the clients of this one.
    return str if field.later else field.type


def _keyword_type(field: Field) -> Any:
    match field.kind:
        case Kind.DURATION:
            kind: Any = float | str | timedelta
        case Kind.INSTANT:
            kind = str | datetime
        case Kind.WORDS:
            kind = list[str]
        case Kind.OBJECT:
            kind = dict[str, Any] | str if field.shorthand else dict[str, Any]
        case _:
            kind = field.type
    return kind | None if field.nullable and kind is not Any else kind


def _keywords(name: str, where: Where) -> Any:
    fields = [each for each in declared(where) if not (each.required and where is Where.CREATE)]
    kinds = {each.keyword or each.name: _keyword_type(each) for each in fields}
    return TypedDict(name, kinds, total=False)  # type: ignore[misc]


_MEMBERS_IN: dict[str, Any] = {}
_MEMBERS_OUT: dict[str, Any] = {}
for _each in FIELDS:
    if _each.members:
        _name = _each.wire_name[0].upper() + _each.wire_name[1:]
        _MEMBERS_IN[_each.name] = _request(f"{_name}In", _each.members, _each.about)
        _MEMBERS_OUT[_each.name] = _answer(f"{_name}Out", _each.members, _each.about)
BackoffIn, BackoffOut = _MEMBERS_IN["backoff"], _MEMBERS_OUT["backoff"]
OnFailureIn, OnFailureOut = _MEMBERS_IN["on_failure"], _MEMBERS_OUT["on_failure"]

JobIn = _asked(
    "JobIn",
    Where.CREATE,
    "A job to create. Without a schedule it runs only when triggered.",
)
JobPatch = _asked(
    "JobPatch",
    Where.EDIT,
    "What to change; the rest stays. A schedule replaces the one before, `null` takes it away.",
)
PreviewIn = _asked(
    "PreviewIn",
    Where.PREVIEW,
    "A schedule, said as in a job, and how much of it to show.",
)
TriggerIn = _asked(
    "TriggerIn",
    Where.TRIGGER,
    "A run to make. Without `payload` it uses the job's; without runAt and delay it is due now.",
)
JobOut = _answer(
    "JobOut",
    tuple(each for each in FIELDS if each.shown),
    "A job as it is now. A `delay` is shown as runAt, a `schedule` as it was written; `normalised` "
    "is the one form in which each is kept.",
)

Given = JobIn | JobPatch | PreviewIn
"""Each may name a schedule."""

CreateKeywords = _keywords("CreateKeywords", Where.CREATE)
EditKeywords = _keywords("EditKeywords", Where.EDIT)
CodeKeywords = _keywords("CodeKeywords", Where.CODE)
TriggerKeywords = _keywords("TriggerKeywords", Where.TRIGGER)
