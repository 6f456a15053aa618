"""The rules of STYLE.md that a program can check. Each yields one readable line per fault."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator

import pytest

from tests.tidy.source import Function, Module, docstring, dotted, functions, uses

Rule = Callable[[Module], Iterator[str]]

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
PARAMETERS_MAX = 6
TEST_WORDS_MIN = 3

AMBIENT = re.compile(
    r"""
    time\.(time|monotonic|perf_counter|process_time|thread_time)(_ns)?
    | datetime\.datetime\.(now|utcnow|today) | datetime\.date\.today
    | random(\..+)? | secrets(\..+)? | os\.urandom | uuid\.uuid[147]
    """,
    re.VERBOSE,
)
# Only the start of a text is looked at: a hint may well say "delete it, or select another".
SQL = re.compile(
    r"""\s*(
    select\b.*\bfrom\b | select\s+\d | insert\s+(or\s+\w+\s+)?into\b | replace\s+into\b
    | update\s+(or\s+\w+\s+)?\w+\s+(as\s+\w+\s+)?set\b | delete\s+from\b
    | (create|drop|alter)\s+(\w+\s+){0,2}(table|index|view|trigger)\b
    | with\s+(recursive\s+)?\w+\s*(\([^)]*\)\s*)?as\b
    )""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
UNFINISHED = re.compile(r"\b(TO[D]O|FIX[M]E|XX[X])\b")
SKIPS = re.compile(r"pytest\.(skip|xfail|importorskip|mark\.(skip|skipif|xfail))|unittest\.skip\w*")
ASSERTING = re.compile(
    r"(.+\.)?(raises|warns|fail|run_state_machine\w*|(assert|check|verify|expect)\w*)"
)


def long_files(module: Module) -> Iterator[str]:
    lines = len(module.text.splitlines())
    if lines > FILE_LINES_MAX:
        yield f"{module.path}: {lines} lines"


def long_functions(module: Module) -> Iterator[str]:
    for function in functions(module):
        lines = height(function) - height(docstring(function))
        if lines > FUNCTION_LINES_MAX:
            yield f"{module.path}:{function.lineno} {function.name}: {lines} lines"


def wide_functions(module: Module) -> Iterator[str]:
    for function in functions(module):
        arguments = function.args
        names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        count = len(names) - (names[:1] in (["self"], ["cls"]))
        if count > PARAMETERS_MAX:
            yield f"{module.path}:{function.lineno} {function.name}: {count} parameters"


def ambient_reads(module: Module) -> Iterator[str]:
    for line, name in uses(module):
        if AMBIENT.fullmatch(name):
            yield f"{module.path}:{line} {name}"


def sql_in_python(module: Module) -> Iterator[str]:
    prose = {id(doc.value) for node in ast.walk(module.tree) if (doc := docstring(node))}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            if SQL.match(node.value):
                yield f"{module.path}:{node.lineno} {' '.join(node.value.split())[:60]}"


def swallowed_exceptions(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ExceptHandler) and catches_all(node.type):
            if all(does_nothing(step) for step in node.body):
                yield f"{module.path}:{node.lineno} except"
        elif isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] == "suppress":
            if any(catches_all(argument) for argument in node.args):
                yield f"{module.path}:{node.lineno} suppress"


def wait_for_calls(module: Module) -> Iterator[str]:
    for line, name in uses(module):
        if name == "asyncio.wait_for":
            yield f"{module.path}:{line} {name}"


def unfinished_work(module: Module) -> Iterator[str]:
    for number, line in enumerate(module.text.splitlines(), 1):
        if UNFINISHED.search(line):
            yield f"{module.path}:{number} {line.strip()[:80]}"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if dotted(raised) == "NotImplementedError":
                yield f"{module.path}:{node.lineno} raises NotImplementedError"


def skipped_tests(module: Module) -> Iterator[str]:
    for line, name in uses(module):
        if SKIPS.fullmatch(name):
            yield f"{module.path}:{line} {name}"


def hollow_tests(module: Module) -> Iterator[str]:
    for test in tests_of(module):
        steps = list(ast.walk(test))
        calls = (dotted(step.func) for step in steps if isinstance(step, ast.Call))
        if not any(isinstance(step, ast.Assert) for step in steps) and not any(
            ASSERTING.fullmatch(call) for call in calls
        ):
            yield f"{module.path}:{test.lineno} {test.name}"


def terse_tests(module: Module) -> Iterator[str]:
    for test in tests_of(module):
        if len(test.name.removeprefix("test_").split("_")) < TEST_WORDS_MIN:
            yield f"{module.path}:{test.lineno} {test.name}"


def tests_of(module: Module) -> Iterator[Function]:
    if module.path.split("/")[-1].startswith("test_"):
        yield from (f for f in functions(module) if f.name.startswith("test_"))


def catches_all(caught: ast.expr | None) -> bool:
    kinds = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(kind is None or dotted(kind) in ("Exception", "BaseException") for kind in kinds)


def does_nothing(step: ast.stmt) -> bool:
    bare = isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant)
    return bare or isinstance(step, ast.Pass | ast.Continue)


def height(node: Function | ast.Expr | None) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1 if node else 0


def over(checked: Iterable[Module], rule: Rule) -> list[str]:
    return [fault for module in checked for fault in rule(module)]


def expect_none(faults: list[str], remedy: str) -> None:
    if faults:
        pytest.fail("\n".join([remedy, *(f"  {fault}" for fault in faults)]), pytrace=False)
