"""The database file is deleted, moved or replaced under a running server, or between two."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.test_server_kit import PROBLEM, Stage
from tests.support.receiver import Receiver
from tests.support.rest import Reply, eventually
from tests.support.server import ONTHEDOT, Server

GRACE = ("--grace", "1")


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with Receiver() as receiver, Server(tmp_path, options=GRACE) as server:
        yield Stage(server, receiver)


def copied(database: Path, to: Path) -> None:
    """A consistent copy of the database, as a backup makes it."""
    with (
        contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as source,
        contextlib.closing(sqlite3.connect(to)) as copy,
    ):
        source.backup(copy)


def refused(stage: Stage) -> Reply:
    reply = stage.rest.post("/v1/jobs", {"name": "x", "handlerUrl": stage.receiver.url})
    assert reply.status == 503, reply
    assert reply.headers["content-type"] == PROBLEM
    assert reply.json["type"] == "urn:onthedot:problem:store-replaced"
    return reply


def journal(database: Path) -> Path:
    return database.with_name(database.name + "-wal")


def deleted(database: Path) -> None:
    database.unlink()


def replaced(database: Path) -> None:
    copied(database, database.with_name("copy.db"))
    database.with_name("copy.db").rename(database)


def journal_deleted(database: Path) -> None:
    journal(database).unlink()


@pytest.mark.parametrize(
    ("meddle", "words"),
    [
        (deleted, "was deleted or moved away"),
        (replaced, "was replaced by another file"),
        (journal_deleted, "-wal' was deleted or moved away"),
    ],
)
def test_writes_are_refused_at_once_and_health_says_why(stage, meddle, words):
    job = stage.job()
    meddle(stage.server.database)

    first = refused(stage)
    unwell = eventually(lambda: unhealthy(stage), "an unhealthy server", within_s=10)

    assert words in first.json["detail"]
    assert first.json["hint"]
    assert any(words in problem for problem in unwell or [])
    assert stage.rest.get("/health/live").status == 200
    assert stage.rest.get(f"/v1/jobs/{job['jobId']}").status == 200, "what it has can be read"
    refused(stage)
    assert stage.server.running, "it stays for people to see why"
    assert "store.replaced" in stage.server.log_text()
    assert stage.server.terminate(within_s=30) == 0


def unhealthy(stage: Stage) -> list[str] | None:
    reply = stage.rest.get("/health")
    return reply.json["problems"] if reply.status == 503 else None


def test_a_file_that_is_put_back_is_used_again(stage):
    away = stage.server.database.with_name("away.db")
    stage.server.database.rename(away)
    refused(stage)

    away.rename(stage.server.database)

    job = stage.job()
    eventually(stage.server.healthy, "a healthy server", within_s=10)
    assert "store.returned" in stage.server.log_text()
    stage.server.restart()
    assert stage.get_job(job)["jobId"] == job["jobId"]


def test_what_a_stopped_server_had_in_a_deleted_journal_is_in_the_database(stage):
    job = stage.job()
    journal_deleted(stage.server.database)
    refused(stage)

    assert stage.server.terminate() == 0
    stage.server.start()

    assert stage.get_job(job)["jobId"] == job["jobId"]


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_a_start_with_the_journal_of_a_database_that_is_gone_is_refused(stage, end):
    stage.job()
    if end == "kill":
        stage.server.kill9()
        stage.server.database.unlink()
    else:
        stage.server.database.unlink()
        stage.server.terminate()
    left = journal(stage.server.database).read_bytes()
    assert left

    said = refused_start(stage.server)

    assert "is gone, and its journal 'onthedot.db-wal' was left behind" in said
    assert f"mv {journal(stage.server.database)} {journal(stage.server.database)}.old" in said
    assert journal(stage.server.database).read_bytes() == left, "nothing was touched"
    assert not stage.server.database.exists()
    journal(stage.server.database).rename(stage.server.database.with_name("kept"))
    stage.server.start()
    assert stage.rest.get("/v1/jobs").json["jobs"] == []


@pytest.mark.parametrize("truncated", [True, False])
def test_a_start_on_a_replaced_database_beside_the_old_journal_is_refused(stage, truncated):
    kept = stage.job(name="kept")
    stage.server.kill9()
    copied(stage.server.database, stage.server.database.with_name("backup.db"))
    stage.server.start()
    stage.job(name="after the backup")
    stage.server.kill9()
    if truncated:
        stage.server.database.write_bytes(b"")
    else:
        stage.server.database.with_name("backup.db").rename(stage.server.database)

    said = refused_start(stage.server)

    assert ("is gone" if truncated else "was replaced, and 'onthedot.db-wal'") in said
    journal(stage.server.database).rename(stage.server.database.with_name("kept"))
    stage.server.start()
    names = [job["name"] for job in stage.rest.get("/v1/jobs").json["jobs"]]
    assert names == ([] if truncated else [kept["name"]])


def refused_start(server: Server) -> str:
    before = len(server.log_text())
    server.launch()
    assert server.ended(within_s=20) == 1
    return server.log_text()[before:]


def test_files_that_were_copied_together_after_a_crash_are_taken(stage, tmp_path):
    job = stage.job()
    stage.server.kill9()
    other = tmp_path / "other"
    other.mkdir()
    for each in tmp_path.glob("onthedot.db*"):
        shutil.copy(each, other)

    with Server(other) as server:
        assert server.rest.get(f"/v1/jobs/{job['jobId']}").status == 200


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_the_files_are_their_owners_alone_whatever_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        with Server(tmp_path) as server:
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in files(tmp_path)}
            assert "store.readable_by_others" not in server.log_text()
    finally:
        os.umask(before)

    names = ("onthedot.db", "onthedot.db-shm", "onthedot.db-wal", "onthedot.db.lock")
    assert modes == dict.fromkeys(names, 0o600)


def test_a_file_that_is_open_to_others_already_stays_so_and_that_is_said(tmp_path):
    with Server(tmp_path) as server:
        server.terminate()
    server.database.chmod(0o640)

    server.start()

    with contextlib.closing(server):
        assert stat.S_IMODE(server.database.stat().st_mode) == 0o640
        assert "store.readable_by_others" in server.log_text()
        assert "mode=640" in server.log_text()


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("onthedot.db*"))


def test_an_orphaned_journal_is_refused_by_the_command_line_too(tmp_path):
    database = tmp_path / "onthedot.db"
    journal(database).write_bytes(b"x" * 100)

    upgrade = subprocess.run(
        [str(ONTHEDOT), "db", "upgrade", "--database", f"sqlite:///{database}"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert upgrade.returncode == 1
    assert "was left behind" in upgrade.stderr
