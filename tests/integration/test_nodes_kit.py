"""Nodes in processes of their own, on one real PostgreSQL."""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg

from tests.support import postgres
from tests.support.pooler import Pooler
from tests.support.rest import NoAnswer, Rest, eventually
from tests.support.server import ONTHEDOT, START_S, STOP_S, clean_environment, free_port

PACKAGED = max(postgres.programs())
END_ALL_OF = """
    select pg_terminate_backend(pid)
    from pg_stat_activity
    where datname = '{name}'
"""


@dataclass
class Process:
    """One `onthedot serve`. `said` is everything that it has written so far."""

    roles: str
    folder: Path
    port: int
    process: subprocess.Popen[bytes]

    @property
    def rest(self) -> Rest:
        return Rest(f"http://127.0.0.1:{self.port}")

    @property
    def said(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def is_ready(self) -> bool:
        """By its own word; with the role api also by that of /health."""
        if self.process.poll() is not None:
            raise AssertionError(f"{self.roles} ended with {self.process.returncode}:\n{self.said}")
        if "onthedot is ready" not in self.said:
            return False
        try:
            return "api" not in self.roles or self.rest.get("/health").status == 200
        except NoAnswer:
            return False

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(STOP_S)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(STOP_S)
        print(f"--- {self.roles}\n{self.said[-4000:]}")


@dataclass
class Cluster:
    """Any number of nodes on one database."""

    folder: Path
    name: str
    url: str
    nodes: list[Process] = field(default_factory=list)
    stack: ExitStack = field(default_factory=ExitStack)

    def launch(self, roles: str, *options: str, **environment: str) -> Process:
        folder = self.folder / f"node-{len(self.nodes)}"
        folder.mkdir()
        port = free_port()
        command = [str(ONTHEDOT), "serve", "--port", str(port), "--roles", roles, *options]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env={**clean_environment(), "ONTHEDOT_DATABASE": self.url, **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        node = Process(roles, folder, port, process)
        self.stack.callback(node.end)
        self.nodes.append(node)
        return node

    def start(self, roles: str, *options: str, **environment: str) -> Process:
        node = self.launch(roles, *options, **environment)
        eventually(node.is_ready, f"a node that is ready as {roles}", within_s=START_S)
        return node

    def tell(self, script: str) -> None:
        """Run SQL on the database."""
        asyncio.run(_tell(self.url, script))

    @contextmanager
    def shut(self) -> Iterator[None]:
        """Meanwhile nobody gets into the database, and whoever was in is out."""
        above = postgres.shared(PACKAGED).url()
        asyncio.run(_tell(above, f"alter database {self.name} allow_connections false"))
        asyncio.run(_tell(above, END_ALL_OF.format(name=self.name)))
        try:
            yield
        finally:
            asyncio.run(_tell(above, f"alter database {self.name} allow_connections true"))

    @contextmanager
    def holding(self, script: str) -> Iterator[None]:
        """Meanwhile a transaction with what the script has locked stays open."""
        with asyncio.Runner() as runner:
            connection = runner.run(asyncpg.connect(self.url))
            try:
                runner.run(connection.execute(f"begin; {script}"))
                yield
            finally:
                runner.run(connection.close())


@contextmanager
def a_cluster(folder: Path, *, pooler: Pooler | None = None) -> Iterator[Cluster]:
    """On an empty database of its own, with a pooler before it or none."""
    server = postgres.shared(PACKAGED)
    name = f"nodes_{os.getpid()}_{secrets.token_hex(4)}"
    asyncio.run(_tell(server.url(), f"create database {name}"))
    try:
        cluster = Cluster(folder, name, (pooler or server).url(name))
        with cluster.stack:
            yield cluster
    finally:
        asyncio.run(_tell(server.url(), f"drop database {name} with (force)"))


async def _tell(url: str, script: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(script)
    finally:
        await connection.close()
