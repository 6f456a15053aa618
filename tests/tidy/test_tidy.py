"""Keeps STYLE.md alive, as far as a program can check it. Each failure says what to do."""

from __future__ import annotations

import ast
import re

import pytest

from tests.tidy import rules
from tests.tidy.rules import Rule, expect_none, over
from tests.tidy.source import ROOT, files, modules, parse

SOURCE = modules("src/")
TESTS = modules("tests/")
EVERYTHING = [*SOURCE, *TESTS, *modules("bench/", "dev.py")]
CLOCK_AND_CHANCE = ("clock.py", "ids.py")

NAMED_FILE = re.compile(r"`([\w/]+\.(?:py|sql))\b")
MACHINE_PATH = re.compile(r"(?<![\w.~])/(?:work|root|home|Users)/\w")
REGISTRY = re.compile(r"\b(?:pypi\.org|python[h]osted\.org|npmj[s]\.(?:org|com)|yarnp[k]g\.com)\b")


def test_there_is_something_to_check():
    assert SOURCE
    assert TESTS


def test_a_file_fits_in_a_head():
    expect_none(
        over(EVERYTHING, rules.long_files), "Split it: one idea per file, 400 lines at most."
    )


def test_a_function_fits_on_a_screen():
    expect_none(
        over(EVERYTHING, rules.long_functions),
        "Keep the branching, move the straight work out: 60 lines at most, docstring not counted.",
    )


def test_a_call_can_be_read_without_counting_its_arguments():
    expect_none(
        over(EVERYTHING, rules.wide_functions),
        "More than six parameters mean that a dataclass is missing.",
    )


def test_the_name_of_a_class_means_one_thing():
    places: dict[str, list[str]] = {}
    for module in SOURCE:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(module.path)

    twice = {name: found for name, found in places.items() if len(found) > 1}
    assert not twice, "give one of each another name"


def test_time_and_chance_are_read_only_in_their_own_modules():
    product = modules("src/onthedot/")  # the benchmarks measure: that is what they read clocks for
    elsewhere = [m for m in product if m.inside not in CLOCK_AND_CHANCE]
    expect_none(
        over(elsewhere, rules.ambient_reads),
        "Take `now` or the random value as an argument, or be given a Clock or Ids.",
    )


def test_python_holds_no_sql():
    expect_none(
        over(SOURCE, rules.sql_in_python),
        "Move it into a .sql file of the store, under a `-- name: noun.verb` line.",
    )


def test_no_exception_is_swallowed():
    expect_none(
        over(EVERYTHING, rules.swallowed_exceptions),
        "Catch the error you expect, or bring the failure to the supervisor.",
    )


def test_nothing_waits_with_wait_for():
    expect_none(
        over(EVERYTHING, rules.wait_for_calls),
        "It swallows cancellation on Python 3.11: use `async with asyncio.timeout(...)`.",
    )


def test_nothing_is_left_unfinished():
    expect_none(
        over(EVERYTHING, rules.unfinished_work), "Do it now, or write an issue and delete the line."
    )


def test_no_test_is_skipped():
    expect_none(
        over(TESTS, rules.skipped_tests),
        "Make the test pass, or delete it and say why in the commit message.",
    )


def test_every_test_asserts_something():
    expect_none(
        over(TESTS, rules.hollow_tests),
        "Say what must be true: assert, pytest.raises, or a helper named assert_... or check_...",
    )


def test_the_name_of_a_test_is_a_sentence():
    expect_none(
        over(TESTS, rules.terse_tests),
        "Name the promise: test_a_late_writer_loses, not test_fence.",
    )


def test_the_docs_name_only_files_that_exist():
    names = {path.rpartition("/")[2] for path in files()}
    missing = [
        f"{path}: {named}"
        for path in files()
        if path.endswith(".md") and path != "CHANGELOG.md"
        for named in NAMED_FILE.findall((ROOT / path).read_text(encoding="utf-8"))
        if (path.startswith("docs/internals/") or path == "ARCHITECTURE.md")
        and named.rpartition("/")[2] not in names
    ]

    expect_none(missing, "It was renamed or deleted: say where it is now.")


def test_no_file_speaks_of_one_machine_or_one_registry():
    found = []
    for path in files():
        text = (ROOT / path).read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            if word := MACHINE_PATH.search(line) or REGISTRY.search(line):
                found.append(f"{path}:{number} {word.group()}")
    expect_none(
        found, "Write a path from the checkout's root; leave indexes to the reader's own settings."
    )


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        (rules.long_files, "x = 1\n" * 401),
        (rules.long_functions, "def f():\n    '''Doc.'''\n" + "    x = 1\n" * 60),
        (rules.wide_functions, "class A:\n    def f(self, a, b, c, d, *, e, f, g): ..."),
        (rules.ambient_reads, "from datetime import datetime as d\nd.now()"),
        (rules.ambient_reads, "import time\ntime.monotonic()"),
        (rules.ambient_reads, "from random import Random\nRandom()"),
        (rules.sql_in_python, "x = 'select id\\nfrom job'"),
        (rules.sql_in_python, "x = f'update run set at = {y}'"),
        (rules.swallowed_exceptions, "try: f()\nexcept Exception: pass"),
        (rules.swallowed_exceptions, "try: f()\nexcept: ..."),
        (rules.swallowed_exceptions, "with suppress(OSError, Exception): f()"),
        (rules.wait_for_calls, "from asyncio import wait_for\nwait_for(f(), 1)"),
        (rules.unfinished_work, "def f(): raise NotImplementedError('later')"),
        (rules.unfinished_work, "x = 1  # " + "TO" + "DO: mend"),
        (rules.skipped_tests, "import pytest\n@pytest.mark.skipif(True)\ndef test_x(): ..."),
        (rules.hollow_tests, "def test_x():\n    f()"),
        (rules.terse_tests, "def test_retry(): ..."),
    ],
)
def test_each_rule_finds_the_fault_it_is_for(rule: Rule, fault: str):
    assert list(rule(parse("tests/test_sample.py", fault)))


@pytest.mark.parametrize(
    ("rule", "sound"),
    [
        (rules.long_functions, "def f():\n    '''Doc.'''\n" + "    x = 1\n" * 59),
        (rules.ambient_reads, "def f(time):\n    return time.monotonic()"),
        (rules.sql_in_python, "hint = 'Delete it, or select another from the list.'"),
        (rules.sql_in_python, "def f():\n    'Update run set by set.'\n    db('begin immediate')"),
        (rules.swallowed_exceptions, "try: f()\nexcept OSError: pass"),
        (rules.hollow_tests, "def test_x():\n    with pytest.raises(E): f()"),
    ],
)
def test_no_rule_finds_fault_with_sound_code(rule: Rule, sound: str):
    assert not list(rule(parse("tests/test_sample.py", sound)))


def test_the_demo_installs_the_same_versions_as_the_tests():
    """Two locks, one of which is a part of the other."""
    serve, dev = (
        set(re.findall(r"^(\S+==\S+)", (ROOT / "requirements" / name).read_text(), re.MULTILINE))
        for name in ("serve.txt", "dev.txt")
    )

    assert serve
    assert serve - dev == set()
