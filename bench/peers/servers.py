"""The servers that the peers share: one PostgreSQL, set as for every bench, and one Redis."""

from __future__ import annotations

import socket
import subprocess
import tempfile
import time
from pathlib import Path

import asyncpg

from onthedot_bench.place import OWN_POSTGRES
from onthedot_bench.postgres import PostgresServer, packaged
from onthedot_bench.probes import family_s

START_S = 10.0
LOOK_S = 0.02


class Redis:
    """It keeps what it is told as a careful user would have it: fsync every second."""

    def __init__(self, program: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="onthedot-peers-")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self._process = subprocess.Popen(
            [
                *(program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""),
                *("--appendonly", "yes", "--appendfsync", "everysec", "--dir", self._folder.name),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._wait()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def ask(self, *words: str) -> int:
        """The number that it answers; other answers count as 0."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=START_S) as line:
            parts = [f"*{len(words)}", *(f"${len(word)}\r\n{word}" for word in words)]
            line.sendall(("\r\n".join(parts) + "\r\n").encode())
            answer = line.recv(256).decode()
        return int(answer[1:]) if answer.startswith(":") else 0

    def processor_s(self) -> float:
        return family_s(self._process.pid)

    def dispose(self) -> None:
        self._process.terminate()
        self._process.wait(START_S)
        self._folder.cleanup()

    def _wait(self) -> None:
        end = time.monotonic() + START_S
        while time.monotonic() < end and self._process.poll() is None:
            try:
                self.ask("PING")
            except OSError:
                time.sleep(LOOK_S)
            else:
                return
        self.dispose()
        raise RuntimeError("redis-server does not start")


class Postgres:
    """Everybody has a database of his own, made anew for every measurement."""

    def __init__(self, programs: Path) -> None:
        # By TCP for all: not every driver speaks through a socket in a folder.
        self._server = PostgresServer(programs, OWN_POSTGRES, tcp=True)
        self._server.start()

    @classmethod
    def open(cls) -> Postgres:
        programs = packaged()
        if programs is None:
            raise RuntimeError("there is no PostgreSQL to start: python3 dev.py setup brings one")
        return cls(programs)

    async def new_database(self, name: str) -> str:
        admin = await asyncpg.connect(self._server.url())
        await admin.execute(f'drop database if exists "{name}" with (force)')
        await admin.execute(f'create database "{name}"')
        await admin.execute("checkpoint")  # what others have written is not for this one to pay
        await admin.close()
        return self._server.url(name)

    def processor_s(self) -> float:
        return family_s(self._server.pid)

    def dispose(self) -> None:
        self._server.dispose()
