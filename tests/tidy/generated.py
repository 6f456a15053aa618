"""Text that is written from the fields of a job and kept in the repository: the types that mypy and
editors know, and the page of the reference. `python3 dev.py fields` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin

from onthedot.cli.fields import flag
from onthedot.core.fields import FIELDS, Field, Kind, Where, declared

ROOT: Final = Path(__file__).resolve().parents[2]

_STUB_HEAD: Final = """\
# Written by `python3 dev.py fields` from src/onthedot/core/fields.
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias, TypedDict

from msgspec import Struct, UnsetType
"""
_PAGE_HEAD: Final = """\
# The fields of a job

This page is written from the declarations in `src/onthedot/core/fields` by `python3 dev.py fields`.

A duration is a number of seconds or an ISO 8601 text (`"PT5M"`); answers show seconds. Fields that
may be set by code are also arguments of `@app.job`, and all are arguments of the
[client](../python.md#the-client), in Python's spelling: `max_runs` for `maxRuns`; `cron` is
`cronExpr`.

```sh
onthedot job add report --url http://127.0.0.1:9000/ --every PT1H --max-runs 3 --owner ana --json
```

```json
{"name": "report", "every": 3600, "maxRuns": 3, "owner": "ana"}
```

| field | option | default | set by | what it is |
|---|---|---|---|---|
"""
_SERVER_HEAD: Final = """
## Set by the server

| field | what it is |
|---|---|
"""
_PLACES: Final = {
    Where.CREATE: "create",
    Where.EDIT: "edit",
    Where.PREVIEW: "preview",
    Where.TRIGGER: "trigger",
    Where.CODE: "code",
}


def stub() -> str:
    """The structs and keyword arguments of wire/shapes.py, spelled out."""
    classes = [_STUB_HEAD]
    for each in FIELDS:
        if each.members:
            name = each.wire_name[0].upper() + each.wire_name[1:]
            classes += [_asked(f"{name}In", each.members), _answered(f"{name}Out", each.members)]
    for name, where in (
        ("JobIn", Where.CREATE),
        ("JobPatch", Where.EDIT),
        ("PreviewIn", Where.PREVIEW),
        ("TriggerIn", Where.TRIGGER),
    ):
        classes.append(_asked(name, declared(where), is_whole=where is not Where.EDIT))
    classes.append(_answered("JobOut", [each for each in FIELDS if each.shown]))
    classes.append("Given: TypeAlias = JobIn | JobPatch | PreviewIn\n")
    for name, where in (
        ("CreateKeywords", Where.CREATE),
        ("EditKeywords", Where.EDIT),
        ("CodeKeywords", Where.CODE),
    ):
        fields = [f for f in declared(where) if not (f.required and where is Where.CREATE)]
        lines = [f"    {each.keyword or each.name}: {_keyword(each)}\n" for each in fields]
        classes.append(f"class {name}(TypedDict, total=False):\n{''.join(lines)}")
    return "\n".join(classes)


def reference() -> str:
    """The page docs/reference/fields.md."""
    rows, server = [], []
    for each in FIELDS:
        if each.where & Where.CREATE:
            rows.append(_row(each))
        elif each.shown:
            server.append(f"| `{each.wire_name}` | {each.about} |\n")
    return _PAGE_HEAD + "".join(rows) + _SERVER_HEAD + "".join(server)


FILES: Final[dict[str, Callable[[], str]]] = {
    "src/onthedot/wire/shapes.pyi": stub,
    "docs/reference/fields.md": reference,
}


def _asked(name: str, fields: Iterable[Field], *, is_whole: bool = True) -> str:
    lines = [f"class {name}(Struct, kw_only=True):\n"]
    for each in fields:
        kind = _value(each, duration="float | str", words="list[str]", suffix="In")
        unset = "" if each.required and is_whole else " | UnsetType"
        value = " = ..." if unset else ""
        lines.append(f"    {each.name}: {kind}{unset}{_null(each)}{value}\n")
    return "".join(lines)


def _answered(name: str, fields: Iterable[Field]) -> str:
    lines = [f"class {name}(Struct, kw_only=True, frozen=True):\n"]
    for each in fields:
        kind = _value(each, duration="float", words="tuple[str, ...]", suffix="Out")
        lines.append(f"    {each.name}: {kind}{_null(each)}\n")
    return "".join(lines)


def _null(field: Field) -> str:
    return " | None" if field.nullable else ""


def _value(field: Field, *, duration: str, words: str, suffix: str) -> str:
    match field.kind:
        case Kind.DURATION:
            return duration
        case Kind.WORDS:
            return words
        case Kind.OBJECT:
            return field.wire_name[0].upper() + field.wire_name[1:] + suffix
    return "str" if field.later and suffix == "Out" else _named(field.type)


def _keyword(field: Field) -> str:
    match field.kind:
        case Kind.DURATION:
            kind = "float | str | timedelta"
        case Kind.INSTANT:
            kind = "str | datetime"
        case Kind.WORDS:
            kind = "list[str]"
        case Kind.OBJECT:
            kind = "dict[str, Any] | str" if field.shorthand else "dict[str, Any]"
        case _:
            kind = _named(field.type)
    return kind + _null(field)


def _named(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return f"Literal[{', '.join(json.dumps(each) for each in get_args(kind))}]"
    return "Any" if kind is Any else str(kind.__name__)


def _row(field: Field) -> str:
    default = "needed" if field.required else f"`{json.dumps(field.default)}`"
    places = ", ".join(word for where, word in _PLACES.items() if field.where & where)
    option = "NAME" if field.required else f"`{flag(field)}`"
    about, choices = field.about, get_args(field.type) if get_origin(field.type) is Literal else ()
    if len(choices) > 1:
        about += f" One of {', '.join(f'`{each}`' for each in choices)}."
    if field.see:
        about += f" [More](../{field.see})"
    return f"| `{field.wire_name}` | {option} | {default} | {places} | {about} |\n"


if __name__ == "__main__":
    for name, text in FILES.items():
        (ROOT / name).write_text(text(), encoding="utf-8")
        print(f"wrote {name}")
