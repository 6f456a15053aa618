"""PostgreSQL servers for tests: the packaged one, and those that are installed here."""

from __future__ import annotations

import re
import secrets
import shutil
import subprocess
from functools import cache
from pathlib import Path

import asyncpg

from onthedot.ids import SystemChance
from onthedot.store.postgres import INSTALLATION_BYTES, open_store
from onthedot.store.postgres.statements import SQL
from onthedot_bench.postgres import USER, PostgresServer, packaged, unprivileged
from tests.tiers import QUICK

__all__ = ["USER", "PostgresServer", "unprivileged"]

OLDEST = 15
INSTALLED = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/usr/local/pgsql*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
)

ALWAYS = {"max_connections": "100", "shared_buffers": "64MB", "deadlock_timeout": "200ms"}
# A server that only answers questions need not survive a power cut.
HASTY = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
_templated: set[PostgresServer] = set()


def programs() -> dict[int, Path]:
    """The folders with PostgreSQL's programs, by major version. The packaged one is always there;
    of the others, those that we support, unless the tests are to be quick."""
    ours = packaged()
    assert ours is not None, "python3 dev.py setup installs it"
    found = {_major(ours): ours}
    for folder in () if QUICK else _installed():
        major = _major(folder)
        if major >= OLDEST:
            found.setdefault(major, folder)
    return found


def _installed() -> list[Path]:
    folders = [path for pattern in INSTALLED for path in sorted(Path("/").glob(pattern[1:]))]
    if asking := shutil.which("pg_config"):
        said = subprocess.run([asking, "--bindir"], capture_output=True, text=True, check=False)
        folders.append(Path(said.stdout.strip()))
    return [folder for folder in folders if (folder / "initdb").exists()]


def _major(folder: Path) -> int:
    said = subprocess.run(
        [folder / "postgres", "--version"], capture_output=True, text=True, check=True
    )
    version = re.search(r"(\d+)", said.stdout)
    assert version, said.stdout
    return int(version[1])


@cache
def shared(major: int) -> PostgresServer:
    """The server of this version for the whole test session; it goes when the session ends."""
    server = a_server(programs()[major])
    server.start()
    return server


def a_server(programs: Path, *, durable: bool = False, tcp: bool = False) -> PostgresServer:
    """`durable`: with every flush to disk that makes a commit survive a crash."""
    return PostgresServer(programs, ALWAYS if durable else ALWAYS | HASTY, tcp=tcp)


# Databases


async def new_database(server: PostgresServer) -> str:
    """A database with our schema and nothing in it; returns its name."""
    name = await bare_database(server, template=await _template(server))
    await empty_database(server.url(name))
    return name


async def bare_database(server: PostgresServer, *, template: str = "template1") -> str:
    """A database that has never seen us, unless the template has; returns its name."""
    name = f"test_{secrets.token_hex(6)}"
    await _tell(server.url(), f"create database {name} template {template}")
    return name


async def drop_database(server: PostgresServer, name: str) -> None:
    await _tell(server.url(), f"drop database if exists {name} with (force)")


async def empty_database(url: str) -> None:
    """Make a database as if it had just been made, with an installation id of its own."""
    await _tell(url, SQL["schema.begin_anew"])
    await _tell(url, f"update installation set id = '{SystemChance().token(INSTALLATION_BYTES)}'")


async def _template(server: PostgresServer) -> str:
    name = "template_onthedot"
    if server not in _templated:
        await _tell(server.url(), f"create database {name}")
        store = await open_store(server.url(name))
        await store.upkeep.close()
        _templated.add(server)
    return name


async def _tell(url: str, script: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(script)
    finally:
        await connection.close()
