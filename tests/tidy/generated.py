"""Text that is written from the fields of a job and kept in the repository: the types that mypy and
editors know, and the page of the reference. `python3 dev.py fields` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, is_typeddict

import msgspec
from msgspec import StructMeta

from onthedot.cli.fields import flag
from onthedot.core.fields import FIELDS, Field, Kind, Where
from onthedot.wire import shapes

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
may be set in code are arguments of `@app.job`, and all are arguments of the
[client](../python.md#the-client), in Python's spelling: `max_runs` for `maxRuns`; `cron` is
`cronExpr`.

```sh
onthedot job add report --url http://127.0.0.1:9000/ --every PT1H --max-runs 3 --owner ana --json
```

```json
{"name": "report", "every": 3600, "maxRuns": 3, "owner": "ana"}
```

| field | option | default | set in | what it is |
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
    made = [value for value in vars(shapes).values() if value.__class__ is StructMeta]
    keywords = [value for value in vars(shapes).values() if is_typeddict(value)]
    classes = [*map(_struct, made), "Given: TypeAlias = JobIn | JobPatch | PreviewIn\n"]
    return "\n".join([_STUB_HEAD, *classes, *map(_typed_dict, keywords)])


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


def _struct(shape: Any) -> str:
    frozen = ", frozen=True" if shape.__struct_config__.frozen else ""
    lines = [f"class {shape.__name__}(Struct, kw_only=True{frozen}):\n"]
    for each in msgspec.structs.fields(shape):
        default = "" if each.default is msgspec.NODEFAULT else " = ..."
        lines.append(f"    {each.name}: {_spelled(each.type)}{default}\n")
    return "".join(lines)


def _typed_dict(keywords: Any) -> str:
    lines = [f"    {name}: {_spelled(kind)}\n" for name, kind in keywords.__annotations__.items()]
    return f"class {keywords.__name__}(TypedDict, total=False):\n{''.join(lines)}"


def _spelled(kind: Any) -> str:
    """A type as a stub writes it, without what annotates it."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _spelled(parts[0])
    if origin is Literal:
        return f"Literal[{', '.join(json.dumps(each) for each in parts)}]"
    if origin in (Union, UnionType):
        words = dict.fromkeys(" | ".join(map(_spelled, parts)).split(" | "))
        return " | ".join(sorted(words, key=lambda word: (word == "None", word == "UnsetType")))
    if origin is not None:
        return f"{origin.__name__}[{', '.join(map(_spelled, parts))}]"
    if kind is ...:
        return "..."
    return "None" if kind is NoneType else str(getattr(kind, "__name__", kind))


def _row(field: Field) -> str:
    default = "needed" if field.required else f"`{json.dumps(field.default)}`"
    if field.kind is Kind.DURATION and field.default is not None:
        default += " s"
    places = ", ".join(word for where, word in _PLACES.items() if field.where & where)
    option = "NAME" if field.required else f"`{flag(field)}`"
    about, choices = field.about, get_args(field.type) if get_origin(field.type) is Literal else ()
    if len(choices) > 1:
        about += f" One of {', '.join(f'`{each}`' for each in choices)}."
    if field.type is int:
        about += f" From {field.limits['ge']} to {field.limits['le']:,}."
    if field.see:
        about += f" [More](../{field.see})"
    return f"| `{field.wire_name}` | {option} | {default} | {places} | {about} |\n"


if __name__ == "__main__":
    for name, text in FILES.items():
        (ROOT / name).write_text(text(), encoding="utf-8")
        print(f"wrote {name}")
