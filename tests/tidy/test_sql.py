"""Keeps the SQL readable: statements with a name each, in lower case, one folder per store."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

import pytest

from tests.tidy.rules import expect_none
from tests.tidy.source import ROOT, files

SQL = {
    path: (ROOT / path).read_text(encoding="utf-8")
    for path in files()
    if path.startswith("src/onthedot/store/") and path.endswith(".sql")
}
STATEMENTS = {path: text for path, text in SQL.items() if "/sql/" in path}

NAME_LINE = re.compile(r"^-- name:(.*)$", re.MULTILINE)
NAME = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")
COMMENT_OR_QUOTED = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"[^\"]*\"", re.DOTALL)


def test_every_statement_has_a_name_line():
    expect_none(
        [fault for path, text in STATEMENTS.items() for fault in nameless(path, text)],
        "Begin each statement with a line `-- name: noun.verb`, one statement below each.",
    )


def test_a_name_means_one_statement_per_store():
    names = Counter(
        (str(PurePosixPath(path).parent), name.strip())
        for path, text in STATEMENTS.items()
        for name in NAME_LINE.findall(text)
    )

    expect_none(
        [f"{folder}: {name}" for (folder, name), count in names.items() if count > 1],
        "Give one of them another name.",
    )


def test_sql_is_written_in_lower_case():
    expect_none(
        [fault for path, text in SQL.items() for fault in upper_case(path, text)],
        "Write keywords, tables and columns in lower case.",
    )


@pytest.mark.parametrize(
    "text",
    [
        "select 1;",
        "-- name: claim\nselect 1;",
        "-- name: Runs.Claim\nselect 1;",
        "-- name: runs.claim\nselect 1;\nselect 2;",
        "-- name: runs.claim\n-- why: nothing follows\n",
    ],
)
def test_a_statement_without_a_proper_name_is_found(text: str):
    assert list(nameless("sample.sql", text))


def test_a_named_statement_is_sound():
    text = "-- about\n-- name: runs.claim\n-- why: no; really\nselect 'A;b'\nfrom run;\n"

    assert not list(nameless("sample.sql", text))
    assert not list(upper_case("sample.sql", text))
    assert list(upper_case("sample.sql", text.replace("from", "FROM")))


def nameless(path: str, text: str) -> Iterator[str]:
    opening, *sections = NAME_LINE.split(text)
    if bare(opening):
        yield f"{path}: a statement before the first name"
    for name, body in zip(sections[::2], sections[1::2], strict=True):
        if not NAME.fullmatch(name.strip()):
            yield f"{path}: not of the form noun.verb: '{name.strip()}'"
        statements = [part for part in bare(body).split(";") if part.strip()]
        if len(statements) != 1:
            yield f"{path}: {len(statements)} statements under '{name.strip()}'"


def upper_case(path: str, text: str) -> Iterator[str]:
    for number, line in enumerate(bare(text, keep_lines=True).splitlines(), 1):
        if word := re.search(r"\w*[A-Z]\w*", line):
            yield f"{path}:{number} {word.group()}"


def bare(text: str, *, keep_lines: bool = False) -> str:
    """The text without comments and quoted parts."""
    blank = (lambda found: "\n" * found.group().count("\n")) if keep_lines else ""
    return COMMENT_OR_QUOTED.sub(blank, text).strip("" if keep_lines else None)
