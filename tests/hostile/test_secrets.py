"""A secret that the server or a command was given is in nothing that they print: planted in every
place that takes one, and searched for in all output."""

from __future__ import annotations

import subprocess

import pytest

from tests.support.postgres import a_server, programs
from tests.support.receiver import Receiver
from tests.support.rest import Rest, eventually
from tests.support.server import ONTHEDOT, Server, clean_environment

CANARY = "c4n4ry0f8d1e7b2a9c6d"
BAD_ADDRESSES = [
    f"postgresql+asyncpg://me:{CANARY}@db/x",
    f"mysql://me:{CANARY}@db/x",
    f"postgresql//me:{CANARY}@db/x",
    f"me:{CANARY}@db",
    f"postgresql://me:{'x' * 90}{CANARY}@db:99999/x",
    f"postgresql://me:{CANARY}@db:port/x",
    f"postgresql://me:{CANARY}/a@127.0.0.1:1/x",
    f"postgresql://me:{CANARY}@127.0.0.1:1/x?sslmode=nonsense",
    f"host=127.0.0.1 password={CANARY}",
]
COMMANDS = [
    ("config",),
    ("config", "--json"),
    ("db", "check"),
    ("--debug", "db", "check"),
    ("db", "upgrade"),
]


def onthedot(folder, *arguments, **environment):
    """All that a command prints, on both streams."""
    command = [str(ONTHEDOT), *arguments]
    done = subprocess.run(
        command,
        cwd=folder,
        env=clean_environment() | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=30,
        check=False,
    )
    return done.stdout


@pytest.mark.parametrize("address", BAD_ADDRESSES)
def test_no_command_prints_the_password_of_an_address(tmp_path, address):
    printed = [onthedot(tmp_path, *command, ONTHEDOT_DATABASE=address) for command in COMMANDS]

    assert all(printed)
    assert [text for text in printed if CANARY in text] == []


def test_no_command_prints_keys_and_secrets(tmp_path):
    secrets = {"ONTHEDOT_API_KEY": CANARY, "ONTHEDOT_WEBHOOK_SECRET": CANARY}
    short = {"ONTHEDOT_API_KEY": f"{CANARY} x", "ONTHEDOT_WEBHOOK_SECRET": CANARY[:8]}

    printed = [
        *(onthedot(tmp_path, *command, **secrets) for command in COMMANDS[:2]),
        onthedot(tmp_path, "config", **short),
        onthedot(tmp_path, "job", "list", "--server", "http://127.0.0.1:1", **secrets),
    ]

    assert all(printed)
    assert [text for text in printed if CANARY[:8] in text] == []


def test_a_server_tells_no_secret_in_its_log_its_pages_or_its_metrics(tmp_path):
    """A database with a password that goes away, a webhook whose path is its secret and that fails,
    a key that every call carries."""
    database = a_server(next(iter(programs().values())), tcp=True)
    database.start()
    url = database.url().replace("127.0.0.1", "localhost")
    password = url.split(":")[2].split("@")[0]
    key = f"key-{CANARY}"
    environment = {"ONTHEDOT_API_KEY": key, "ONTHEDOT_WEBHOOK_SECRET": f"hook-{CANARY}"}
    with Receiver() as receiver, Server(tmp_path, url=url, environment=environment) as server:
        rest = Rest(server.url, headers={"Authorization": f"Bearer {key}"})
        hook = f"{receiver.url}/status/500?{CANARY}"
        failing = {"name": "fails", "handlerUrl": f"{receiver.url}/status/500", "retries": 0}
        job = rest.made("/v1/jobs", failing | {"onFailure": {"url": hook}})
        rest.made(f"/v1/jobs/{job['jobId']}/trigger", {})
        eventually(lambda: "notice.put_off" in server.log_text(), "a failed notice", within_s=30)
        told = [rest.get(path).body.decode() for path in ("/metrics", "/openapi.json", "/v1/nodes")]
        database.stop("immediate")
        eventually(lambda: "does not answer" in server.log_text(), "an outage", within_s=30)
        told += [rest.get(path).body.decode() for path in ("/health", "/v1/jobs")]
        told.append(server.log_text())
    database.dispose()

    assert "localhost" not in password
    assert all(told)
    for secret in (CANARY, password):
        assert [text for text in told if secret in text] == []
