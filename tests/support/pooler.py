"""Poolers in transaction mode between us and PostgreSQL: a small one of our own, and PgBouncer.

Whatever a session keeps (prepared statements, settings, LISTEN, locks, temporary tables) is not
there in the next transaction, since that one has another session. Our own pooler sees to it: while
it has any other backend, consecutive transactions of a client never get the same one.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import shutil
import subprocess
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import asyncpg

from tests.support.pooling import BACKENDS, Pooling
from tests.support.postgres import USER, PostgresServer, programs, shared, unprivileged

PORT = 6432
START_S = 10.0
POLL_S = 0.01
BESIDE_THE_PATH = "/usr/sbin:/usr/local/sbin:/opt/homebrew/bin"


class Pooler(ABC):
    """Speaks PostgreSQL on a socket in a folder of its own; it goes when the tests end."""

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        self.folder = Path(tempfile.mkdtemp(prefix="onthedot-pooler-"))
        atexit.register(self.close)

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://{USER}@/{database}?host={self.folder}&port={PORT}"

    def close(self) -> None:
        atexit.unregister(self.close)
        self._end()
        shutil.rmtree(self.folder, ignore_errors=True)

    @abstractmethod
    def _end(self) -> None: ...

    async def fill(self, database: str) -> None:
        """Make it open all its backends for this database, so that it has some to choose from."""
        clients = [
            await asyncpg.connect(self.url(database), statement_cache_size=0)
            for _ in range(BACKENDS)
        ]
        for client in clients:
            await client.execute("begin")
        for client in clients:
            await client.execute("commit")
            await client.close()


class OwnPooler(Pooler):
    """In a thread of the tests."""

    def __init__(self, server: PostgresServer) -> None:
        super().__init__(server)
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="pooler", daemon=True)
        self._thread.start()
        assert self._ready.wait(START_S), "the pooler did not start"

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        pooling = Pooling(str(self.server.folder / ".s.PGSQL.5432"))
        here = str(self.folder / f".s.PGSQL.{PORT}")
        listening = await asyncio.start_unix_server(pooling.converse, here)
        self._ready.set()
        await self._over.wait()
        listening.close()
        pooling.close()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(START_S)
        assert not self._thread.is_alive(), "the pooler did not stop"


class PgBouncer(Pooler):
    """The real one, as it is installed here."""

    def __init__(self, server: PostgresServer) -> None:
        super().__init__(server)
        program = _pgbouncer()
        assert program is not None
        settings = self.folder / "pgbouncer.ini"
        settings.write_text(self._settings())
        self._as = unprivileged()
        if self._as:
            os.chown(self.folder, self._as["user"], self._as["group"])
        self.folder.chmod(0o755)
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [program, settings],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,  # a Ctrl-C is for the tests
                **self._as,
            )
        self._wait()

    def _settings(self) -> str:
        """Nothing beyond what is needed to get there, except that every transaction is given the
        backend that has rested longest.
        """
        return f"""
            [databases]
            * = host={self.server.folder} port=5432 user={USER}
            [pgbouncer]
            pool_mode = transaction
            auth_type = any
            listen_port = {PORT}
            unix_socket_dir = {self.folder}
            default_pool_size = {BACKENDS}
            server_round_robin = 1
            max_client_conn = 500
        """.replace(" " * 12, "")

    def _wait(self) -> None:
        deadline = time.monotonic() + START_S
        while not (self.folder / f".s.PGSQL.{PORT}").exists():
            said = (self.folder / "log").read_text()
            assert self._process.poll() is None, f"PgBouncer ended:\n{said}"
            assert time.monotonic() < deadline, f"PgBouncer does not start:\n{said}"
            time.sleep(POLL_S)

    def _end(self) -> None:
        self._process.terminate()
        self._process.wait(START_S)


def _pgbouncer() -> str | None:
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path=BESIDE_THE_PATH)


POOLERS: Mapping[str, Callable[[PostgresServer], Pooler]] = {
    "pooler": OwnPooler,
    **({"pgbouncer": PgBouncer} if _pgbouncer() else {}),
}
"""Our own is always there; PgBouncer where it is installed."""


@cache
def pooled(name: str) -> Pooler:
    """The pooler of this name before the packaged PostgreSQL, for the whole test session."""
    return POOLERS[name](shared(max(programs())))
