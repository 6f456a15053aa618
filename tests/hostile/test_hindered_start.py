"""A database that takes nothing when the server starts: the error, or health, tells why."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from tests.support.disk import Quota
from tests.support.rest import NoAnswer, eventually
from tests.support.server import ONTHEDOT, Server


def test_a_first_start_on_a_full_disk_is_refused_and_says_why(tmp_path: Path):
    with Quota() as disk:
        disk.fill()
        told = subprocess.run(
            [ONTHEDOT, "serve", "--port", "0", "--database", f"sqlite:///{tmp_path}/x.db"],
            env={**os.environ, **disk.environment},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert told.returncode == 1
    assert f"cannot open '{tmp_path}/x.db': the disk is full" in told.stderr
    assert "Free some space, and start again." in told.stderr


def test_a_server_that_cannot_join_says_why_and_joins_when_it_can(tmp_path: Path):
    with Server(tmp_path) as server:
        server.terminate()
        with closing(sqlite3.connect(server.database, isolation_level=None)) as other:
            other.execute("begin immediate")
            server.launch()
            eventually(lambda: "is locked" in _problem(server), "the reason", within_s=30)
            other.execute("rollback")
        eventually(lambda: not _problem(server), "a server that is well", within_s=30)
        assert server.rest.get("/health").status == 200


def _problem(server: Server) -> str:
    try:
        return " ".join(server.rest.get("/health").json["problems"])
    except NoAnswer:
        return "it does not answer"
