"""Keeps the SQL readable: statements with a name each, in lower case, one folder per store."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

import pytest

from onthedot.store.statements import fingerprint
from tests.tidy.rules import FILE_LINES_MAX, FUNCTION_LINES_MAX, expect_none
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


# Migrations that have landed: databases made by them refuse a build that has another text.
LANDED = {
    "postgres/0001.sql": "2ac559ab2508cc41f4bfd05120e87db7a46c651527b57c5155b63a6b11757f73",
    "sqlite/0001.sql": "14f5022e7bc5aa19e59649e3ecb773dfc09c27ef90bb1e70b6397d83f6f3c63c",
}
FUNCTION = re.compile(
    r"^create (?:or replace )?function (?P<name>\w+)\(.*?(?P<quote>\$\w*\$).*?(?P=quote);",
    re.MULTILINE | re.DOTALL,
)


def test_a_migration_that_has_landed_is_never_edited():
    found = {
        path.removeprefix("src/onthedot/store/").replace("/migrations/", "/"): fingerprint(text)
        for path, text in SQL.items()
        if "/migrations/" in path
    }

    expect_none(
        [path for path in LANDED.keys() | found.keys() if LANDED.get(path) != found.get(path)],
        "Undo the edit and add the next number; add the fingerprint of a new migration to LANDED.",
    )


def test_functions_and_views_of_postgresql_are_no_part_of_a_migration():
    expect_none(
        [
            path
            for path, text in SQL.items()
            if "/postgres/migrations/" in path and re.search(r"\b(function|view)\b", bare(text))
        ],
        "Put them into store/postgres/functions, which is applied as a whole.",
    )


def test_functions_of_postgresql_can_be_applied_again():
    expect_none(
        [
            f"{path}: {statement.splitlines()[0]}"
            for path, text in SQL.items()
            if "/functions/" in path
            for statement in re.findall(
                r"^(?!create or replace )[a-z].*", outside(text), re.MULTILINE
            )
            if statement.startswith(("create", "drop", "alter", "grant", "insert"))
        ],
        "Write `create or replace`; tables and types belong into a migration.",
    )


# Whoever writes history: the one end of a run, plain successes, attempts that are retried, ranges
# that never ran, and days that move as a whole.
ENDS = {
    "postgres/functions/days.sql": 2,
    "postgres/functions/ends.sql": 1,
    "postgres/functions/finish.sql": 1,
    "postgres/functions/succeed.sql": 1,
    "postgres/sql/clock.sql": 1,
    "sqlite/sql/runs.sql": 2,
}


def test_a_run_ends_in_one_place_per_store():
    found = Counter(
        path.removeprefix("src/onthedot/store/")
        for path, text in SQL.items()
        for _ in re.findall(r"insert (?:or \w+ )?into (?:history|%I)\b", text)
    )
    letters = [path for path, text in SQL.items() if "into dead (" in text]

    expect_none(
        [path for path in ENDS.keys() | found.keys() if ENDS.get(path) != found.get(path)],
        "Hand the run to `end_runs`, which writes all that an end leaves, and what follows it.",
    )
    expect_none(
        [path for path in letters if not path.endswith(("ends.sql", "runs.sql"))],
        "Dead letters are written by `end_runs`.",
    )


def test_files_and_functions_of_sql_are_of_a_size_to_be_read():
    expect_none(
        [fault for path, text in SQL.items() for fault in long_sql(path, text)],
        "Split it by what it is about; move the straight work out of a function.",
    )


@pytest.mark.parametrize(
    "text",
    [
        "select 1\n" * 401,
        "create or replace function f() returns integer as $$\n" + "select 1;\n" * 59 + "$$;\n",
        "create function f(\n) returns void as $f$\n" + "select 1;\n" * 58 + "$f$;\n",
    ],
)
def test_what_is_too_long_is_found(text: str):
    assert list(long_sql("sample.sql", text))
    assert not list(
        long_sql("sample.sql", text.replace("select 1;\n", "", 1).removeprefix("select 1\n"))
    )


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


def long_sql(path: str, text: str) -> Iterator[str]:
    lines = len(text.splitlines())
    if lines > FILE_LINES_MAX:
        yield f"{path}: {lines} lines"
    for found in FUNCTION.finditer(text):
        lines = len(found.group().splitlines())
        if lines > FUNCTION_LINES_MAX:
            yield f"{path}: {lines} lines in {found['name']}"


def outside(text: str) -> str:
    """The text without the bodies of functions."""
    return re.sub(r"(\$\w*\$).*?\1", "", text, flags=re.DOTALL)


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
