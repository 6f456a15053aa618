"""From the bytes of a request to a struct, or to a refusal that names the field and the next step.

The body is opened one level deep and each field is decoded by itself. That keeps the payload as
the text it was (a float would round a long number) and tells which field is at fault without
reading the decoder's prose.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any, Final, TypeVar, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, DecodeError, Meta, Raw, Struct, ValidationError

from onthedot.core.fields import FIELDS, Where
from onthedot.errors import Invalid, NotAvailableYet
from onthedot.wire.fields import PAYLOAD_BYTES_MAX
from onthedot.wire.repeated import Repeated, refuse_repeated, refuse_repeated_anywhere

S = TypeVar("S", bound=Struct)

DEPTH_MAX: Final = 100
SET_BY_SERVER: Final = frozenset(
    each.wire_name for each in FIELDS if each.shown and not each.where & Where.CREATE
)

_SHOWN_MAX: Final = 40
# A text that never ends is taken to the end: trying again from each quote in it took minutes.
_TEXTS: Final = re.compile(r'"(?:[^"\\]|\\.|\\\Z)*+(?:"|\Z)', re.DOTALL)
_PASSES: Final = 6
_ALIKE: Final = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
# By its first character, since what follows it has not been checked yet.
_KINDS: Final = {'"': "text", "[": "an array", "n": "null", "t": "true", "f": "false"}
_OPEN_JSON: Final = msgspec.json.Decoder(dict[str, Raw])
_ANYTHING: Final = msgspec.json.Decoder()


class Malformed(Invalid):
    """The body is no JSON object at all (HTTP 400)."""


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    type: Any
    decode: Callable[[bytes], Any]
    required: bool
    expects: str
    hint: str
    later: str
    pattern: re.Pattern[str] | None
    members: type[Struct] | None
    """The struct of a nested object, or of the objects in an array."""
    most: int | None
    """How many objects the array may have; None: there is no array."""
    nullable: bool


def read(body: bytes, shape: type[S]) -> S:
    """The struct that a request's body describes; a body that is empty or spaces counts as `{}`."""
    return _built(_opened(body), shape, "")


def payload_text(value: object) -> str:
    """A payload as compact JSON text: long numbers and the order of keys stay as given."""
    raw = bytes(value) if isinstance(value, Raw) else msgspec.json.encode(value)
    try:
        decoded = _ANYTHING.decode(raw)
    except (DecodeError, RecursionError) as error:
        raise Invalid(
            f"payload cannot be kept: {error}",
            hint="Send numbers that fit a double, or put long ones into text.",
            field="payload",
        ) from None
    text = msgspec.json.format(raw, indent=-1)
    if len(text) > PAYLOAD_BYTES_MAX:
        raise Invalid(
            f"payload has {len(text)} bytes, at most {PAYLOAD_BYTES_MAX} are kept",
            hint="Keep large data elsewhere and send a reference to it.",
            field="payload",
        )
    try:
        refuse_repeated_anywhere(text, decoded)
    except Repeated as repeated:
        raise _twice(repeated, "payload", f"payload has {_named(repeated.name)}") from None
    return text.decode()


def _opened(body: bytes) -> dict[str, Raw]:
    try:
        text = body.decode("utf-8-sig")  # some editors and shells put a byte order mark first
    except UnicodeDecodeError as error:
        raise Malformed(
            f"the body is not UTF-8 (byte {error.start})", hint="Send JSON encoded as UTF-8."
        ) from None
    if not text.strip():
        return {}
    _refuse_deep(text)
    try:
        return _first_level(text, "")
    except ValidationError:
        raise Malformed(
            f"the body must be a JSON object, not {_KINDS.get(text.strip()[0], 'a number')}",
            hint='Send an object such as {"name": "nightly report", …}.',
        ) from None
    except DecodeError as error:
        _refuse_half_characters(text)
        raise Malformed(
            f"the body is not JSON: {error}",
            hint='Quote names and texts with ", and leave out comments, NaN and Infinity.',
        ) from None


def _first_level(text: str, prefix: str) -> dict[str, Raw]:
    given = _OPEN_JSON.decode(text)
    try:
        refuse_repeated(text, given)
    except Repeated as repeated:
        name = prefix + _cut(repeated.name)
        raise _twice(repeated, name, f"the body has {_named(name)}") from None
    return given


def _named(name: str) -> str:
    return f"the name {_cut(name)!r}"


def _twice(repeated: Repeated, field: str, where: str) -> Invalid:
    return Invalid(
        f"{where} twice in one object",
        hint=f"Give {_cut(repeated.name)!r} once: readers differ in which one they take.",
        field=field,
    )


def _cut(name: str) -> str:
    return name if len(name) <= _SHOWN_MAX else name[:_SHOWN_MAX] + "…"


def _refuse_deep(text: str) -> None:
    if text.count("{") + text.count("[") <= DEPTH_MAX:
        return
    # Without all else, each pass takes the innermost pairs away, and so one level. Then rows of
    # brackets are counted: one by one they would take ten times as long.
    brackets = _TEXTS.sub("", text).encode().translate(_ALIKE, _NO_BRACKETS)
    for _ in range(_PASSES):
        brackets = brackets.replace(b"[]", b"")
    depth = _PASSES
    for row in re.finditer(rb"\[+|\]+", brackets):
        length = row.end() - row.start()
        depth += length if row[0].startswith(b"[") else -length
        if depth > DEPTH_MAX:
            raise Malformed(
                f"the body is nested more than {DEPTH_MAX} levels deep",
                hint="Flatten it, or put the inner document into text.",
            )


def _refuse_half_characters(text: str) -> None:
    """JSON's grammar allows half of a surrogate pair; no store and no UTF-8 can hold it."""
    try:
        fields = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return
    for name, value in fields.items() if isinstance(fields, dict) else ():
        if not _is_whole(name, value):
            raise Invalid(
                "a text in the body has a lone surrogate, which is half a character",
                hint="Send the character itself in UTF-8, or both halves of the pair.",
                field=name if _is_whole(name) else None,
            )


def _is_whole(*values: object) -> bool:
    try:
        json.dumps(values, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _built(given: dict[str, Raw], shape: type[S], prefix: str) -> S:
    fields = _fields(shape)
    for name in given:
        if name not in fields:
            raise _unknown(name, fields, prefix)
    values = {
        field.name: _value(given[name], field, prefix + name)
        for name, field in fields.items()
        if name in given
    }
    for name, field in fields.items():
        if field.required and name not in given:
            raise Invalid(
                f"{prefix}{name} is missing",
                hint=field.hint or f"Give {field.expects}.",
                field=prefix + name,
            )
    return shape(**values)


def _value(raw: Raw, field: _Field, path: str) -> object:
    text = bytes(raw)
    if field.type is Any:
        return raw
    if field.members is not None and not (field.nullable and text == b"null"):
        if field.most is not None:
            return _elements(text, field, path)
        return _member(text, field, path)
    try:
        value = field.decode(text)
    except ValidationError:
        value = _whole_number(text, field, path)
    texts = value if isinstance(value, list) else [value]
    if field.pattern and not all(
        field.pattern.fullmatch(item) for item in texts if isinstance(item, str)
    ):
        raise _wrong(text, field, path)
    return value


def _member(text: bytes, field: _Field, path: str) -> object:
    if not text.startswith(b"{") or field.members is None:
        raise _wrong(text, field, path)
    prefix = f"{path}."
    return _built(_first_level(text.decode(), prefix), field.members, prefix)


def _elements(text: bytes, field: _Field, path: str) -> list[object]:
    """Objects in an array: one at fault is named by its place, counted from 0."""
    raws = msgspec.json.decode(text, type=list[Raw]) if text.startswith(b"[") else []
    if not raws or len(raws) > (field.most or 0):
        raise _wrong(text, field, path)
    return [_member(bytes(raw), field, f"{path}[{at}]") for at, raw in enumerate(raws)]


def _whole_number(text: bytes, field: _Field, path: str) -> object:
    """JSON knows one kind of number: 3.0 is 3, and some languages cannot write it otherwise."""
    try:
        number = msgspec.json.decode(text, type=float)
        if number.is_integer() and not text.strip(b"-").isdigit():
            return msgspec.convert(int(number), field.type)
    except ValidationError:
        pass
    raise _wrong(text, field, path)


def _wrong(text: bytes, field: _Field, path: str) -> Invalid:
    if field.later and text.startswith(b'"'):
        named = f"{path} {_shown(text).removeprefix('the text ')}"
        return NotAvailableYet(f"{named} is not available yet", hint=field.later, field=path)
    return Invalid(
        f"{path} must be {field.expects}, not {_shown(text, field.pattern)}",
        hint=field.hint or f"Give {field.expects}.",
        field=path,
    )


def _unknown(name: str, fields: dict[str, _Field], prefix: str) -> Invalid:
    shown = _cut(name)
    if not prefix and name in SET_BY_SERVER:
        return Invalid(f"{name} is set by the server", hint="Leave it out.", field=name)
    folded = {known.casefold(): known for known in fields}
    asked = shown.casefold().replace("_", "").replace("-", "")
    near = get_close_matches(asked, folded, n=1, cutoff=0.6)
    hint = f"Did you mean {prefix}{folded[near[0]]}?" if near else f"Known: {', '.join(fields)}."
    return Invalid(f"{prefix}{shown} is not a known field", hint=hint, field=prefix + shown)


def _shown(text: bytes, pattern: re.Pattern[str] | None = None) -> str:
    """A JSON value of unknown origin with the name of its type, fit for an error message."""
    match text[:1]:
        case b"{":
            return "an object"
        case b"[":
            return _shown_array(text, pattern)
        case b"n":
            return "null"
        case b"t" | b"f":
            return f"the boolean {text.decode()}"
        case b'"':
            value = msgspec.json.decode(text, type=str)
            long = f"text of {len(value)} characters"
            return f"the text {value!r}" if len(value) <= _SHOWN_MAX else long
    number = text.decode()
    return f"the number {number if len(number) <= _SHOWN_MAX else number[:_SHOWN_MAX] + '…'}"


def _shown_array(text: bytes, pattern: re.Pattern[str] | None) -> str:
    """With the first element that is at fault, where elements have a pattern."""
    elements = [bytes(raw) for raw in msgspec.json.decode(text, type=list[Raw])]
    if pattern is None:
        return f"an array of {len(elements)}"
    for raw in elements:
        is_text = raw.startswith(b'"')
        if not is_text or not pattern.fullmatch(msgspec.json.decode(raw, type=str)):
            return f"an array with {_shown(raw)} in it"
    return f"an array of {len(elements)}" if elements else "an array"


@cache
def _fields(shape: type[Struct]) -> dict[str, _Field]:
    return {info.encode_name: _field(info) for info in msgspec.structs.fields(shape)}


def _field(info: msgspec.structs.FieldInfo) -> _Field:
    parts = list(_parts(info.type))
    extra: dict[str, Any] = next((p.extra for p in parts if isinstance(p, Meta) and p.extra), {})
    return _Field(
        name=info.name,
        type=Any if Any in parts else info.type,
        decode=msgspec.json.Decoder(info.type).decode,
        required=info.default is NODEFAULT and info.default_factory is NODEFAULT,
        expects=extra.get("expects", "a value"),
        hint=extra.get("hint", ""),
        later=extra.get("later", ""),
        pattern=extra.get("pattern"),
        members=next((p for p in parts if isinstance(p, type) and issubclass(p, Struct)), None),
        most=next((p.max_length for p in parts if isinstance(p, Meta) and p.max_length), None)
        if any(get_origin(part) is list for part in parts)
        else None,
        nullable=type(None) in parts,
    )


def _parts(kind: Any) -> list[Any]:
    """The members of a union and what annotates them, all the way down."""
    return [kind, *(part for inner in get_args(kind) for part in _parts(inner))]
