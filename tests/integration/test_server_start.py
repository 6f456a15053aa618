"""Starting and refusing to start: each refusal is one clear line, a hint and an exit code."""

from __future__ import annotations

import os
import socket
import sqlite3
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.integration.test_server_kit import Stage, check_problem
from tests.support.receiver import Receiver
from tests.support.rest import Rest, eventually
from tests.support.server import ONTHEDOT, Server, clean_environment, free_port

KEY = "a-long-random-text-of-30-chars"


def refused(*options: str, folder: Path, **environment: str) -> tuple[int, str]:
    """The exit code of a server that does not start, and its one line; a hint follows it."""
    done = subprocess.run(
        [str(ONTHEDOT), "serve", *options],
        cwd=folder,
        env={**clean_environment(), **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    said = done.stderr.rstrip("\n").split("\n")
    assert said[0].startswith("error: "), done.stderr
    assert said[1] == ""
    assert said[2].startswith("hint: ")
    assert len(said) == 3, done.stderr
    return done.returncode, said[0]


def any_port() -> tuple[str, str]:
    return "--port", str(free_port())


def test_a_port_that_is_in_use_is_named(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, line = refused("--port", str(port), folder=tmp_path)

    assert code == 1
    assert f"127.0.0.1:{port}" in line
    assert "in use" in line
    assert list(tmp_path.iterdir()) == [], "nothing is made by a server that cannot start"


def test_a_second_server_on_the_same_file_names_the_first(stage, tmp_path):
    server = stage.server

    code, line = refused("--database", f"sqlite:///{server.database}", *any_port(), folder=tmp_path)

    assert code == 1
    assert f"process {server.process.pid}" in line
    assert str(server.database) in line
    assert server.healthy()


def test_a_folder_that_is_not_there_is_named(tmp_path):
    missing = tmp_path / "missing"

    code, line = refused(
        "--database", f"sqlite:///{missing}/onthedot.db", *any_port(), folder=tmp_path
    )

    assert code == 1
    assert f"'{missing}' does not exist" in line
    assert not missing.exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    folder = Path("/sys") if os.geteuid() == 0 else tmp_path
    tmp_path.chmod(0o555)
    try:
        code, line = refused(
            "--database", f"sqlite:///{folder}/onthedot.db", *any_port(), folder=tmp_path
        )
    finally:
        tmp_path.chmod(0o755)

    assert code == 1
    assert f"cannot write in the folder '{folder}'" in line


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path):
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear Ana,\n" * 1000)

    code, line = refused("--database", f"sqlite:///{letter}", *any_port(), folder=tmp_path)

    assert code == 1
    assert str(letter) in line
    assert letter.read_text() == "Dear Ana,\n" * 1000


def test_a_database_of_a_newer_version_is_refused_and_left_alone(stage, tmp_path):
    file = tmp_path / "onthedot.db"
    ours = sqlite3.connect(f"file:{stage.server.database}?mode=ro", uri=True)
    with closing(ours), closing(sqlite3.connect(file)) as later:
        ours.backup(later)
        later.execute("pragma user_version = 9999")
        jobs = later.execute("select count(*) from job").fetchone()

    code, line = refused(*any_port(), folder=tmp_path)

    assert code == 1
    assert "schema 9999" in line
    with closing(sqlite3.connect(file)) as later:
        assert later.execute("pragma user_version").fetchone() == (9999,)
        assert later.execute("select count(*) from job").fetchone() == jobs


def test_a_public_address_without_a_key_is_refused(tmp_path):
    code, line = refused("--host", "::", *any_port(), folder=tmp_path)

    assert code in (1, 2)
    assert "'::'" in line
    assert "no API key" in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (("--port", "99999"), "port '99999' (from --port)"),
        (("--grace", "soon"), "grace 'soon'"),
    ],
)
def test_a_wrong_setting_is_named_with_its_source(tmp_path, options, names):
    code, line = refused(*options, folder=tmp_path)

    assert code == 2
    assert names in line


def test_a_wrong_variable_and_a_wrong_file_are_named_as_such(tmp_path):
    code, line = refused(folder=tmp_path, ONTHEDOT_PORT="many")
    assert (code, "(from ONTHEDOT_PORT)" in line) == (2, True)

    (tmp_path / "onthedot.toml").write_text("prot = 8467\n")
    code, line = refused(folder=tmp_path)
    assert (code, "unknown setting 'prot'" in line) == (2, True)


def test_flags_beat_variables_and_variables_beat_the_file(tmp_path):
    (tmp_path / "onthedot.toml").write_text('port = 1\nhost = "nowhere.invalid"\n')

    code, line = refused("--port", "3", folder=tmp_path, ONTHEDOT_PORT="2", ONTHEDOT_HOST="0.0.0.0")
    assert (code, "'0.0.0.0' (ONTHEDOT_HOST)" in line) == (1, True)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A server with a key, which it finds in its file of settings, open to other machines."""
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "onthedot.toml").write_text(f'api_key = "{KEY}"\n')
    with Receiver() as receiver, Server(folder, options=("--host", "0.0.0.0")) as server:
        yield Stage(server, receiver)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/jobs"),
        ("GET", "/jobs"),
        ("POST", "/v1/jobs"),
        ("GET", "/"),
        ("GET", "/docs"),
        ("GET", "/openapi.json"),
        ("GET", "/v1/overview"),
        ("GET", "/static/page.js"),
        ("GET", "/nothing"),
        ("GET", "//v1/jobs"),
    ],
)
def test_without_the_key_everything_is_closed(guarded, method, path):
    wrong = {"Authorization": "Bearer wrong", "X-API-Key": KEY + "x"}

    for headers in ({}, wrong):
        reply = guarded.rest.ask(method, path, None, headers)
        check_problem(reply, 401)
        assert reply.headers["www-authenticate"]


@pytest.mark.parametrize("path", ["/health", "/health/live", "/health/ready", "/v1/health"])
def test_the_health_paths_need_no_key(guarded, path):
    assert guarded.rest.get(path).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": f"Bearer {KEY}"},
        {"X-API-Key": KEY},
        {"Authorization": "Basic " + b64encode(f"anybody:{KEY}".encode()).decode()},
    ],
)
def test_with_the_key_everything_is_open(guarded, headers):
    for path in ("/v1/jobs", "/", "/docs", "/openapi.json", "/v1/overview"):
        assert guarded.rest.ask("GET", path, None, headers).status == 200


def test_the_key_is_not_sent_to_receivers_nor_logged(guarded):
    open_door = Stage(guarded.server, guarded.receiver)
    rest = Rest(guarded.server.url, headers={"X-API-Key": KEY})
    job = rest.made("/v1/jobs", {"name": "x", "handlerUrl": guarded.receiver.url + "/ok"})
    rest.made(f"/v1/jobs/{job['jobId']}/trigger", {})

    [call] = open_door.called(job)

    assert KEY not in str(call.headers)
    assert KEY not in guarded.server.log_text()


def test_a_server_that_is_told_twice_to_stop_ends_at_once(tmp_path):
    with Receiver() as receiver, Server(tmp_path) as server:
        stage = Stage(server, receiver)
        job = stage.job("/hang")
        stage.trigger(job)
        stage.called(job)

        server.process.terminate()
        eventually(lambda: "node.draining" in server.log_text(), "the drain")
        server.process.terminate()

        assert server.ended(within_s=5) == 0
