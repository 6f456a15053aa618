"""A node within the programs of others: the snippets of docs/python.md, run."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import litestar.testing
import pytest
from fastapi import FastAPI
from litestar import Litestar, get

from onthedot import App, Client
from onthedot.errors import OnthedotError
from tests.support.rest import eventually
from tests.support.server import free_port

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

SHOP = """
from onthedot import App
app = App()

@app.job(name="greet")
def greet(name: str) -> str:
    return f"hello {name}"
"""


def snippet(word: str) -> str:
    [found] = [each for each in SNIPPETS if word in each]
    return str(found)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {
        "asynccontextmanager": asynccontextmanager,
        "FastAPI": FastAPI,
        "__name__": "shop",
    }
    exec(SHOP, space)
    exec(snippet("FastAPI("), space)
    return space


def greeted(app: App, run_id: str) -> Callable[[], bool]:
    return lambda: app.client.blocking.get_run(run_id).output == '"hello ana"'


async def test_a_node_lives_as_long_as_a_fastapi_application(shop):
    web, app, greet = shop["web"], shop["app"], shop["greet"]

    @web.get("/greet")
    async def enqueue() -> str:
        return str(await greet.enqueue(name="ana"))

    transport = httpx.ASGITransport(app=web)
    async with (
        web.router.lifespan_context(web),
        httpx.AsyncClient(transport=transport, base_url="http://shop") as client,
        asyncio.timeout(20),
    ):
        run_id = (await client.get("/greet")).json()
        while not (output := (await app.client.get_run(run_id)).output):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert output == '"hello ana"'


def test_a_node_lives_as_long_as_a_litestar_application(shop):
    app, greet = shop["app"], shop["greet"]

    @get("/greet")
    async def enqueue() -> str:
        return str(await greet.enqueue(name="ana"))

    web = Litestar([enqueue], lifespan=[shop["lifespan"]])
    with litestar.testing.TestClient(web) as client:
        run_id = client.get("/greet").text
        assert eventually(greeted(app, run_id), "the run")


def test_a_node_is_run_by_a_management_command_of_django(tmp_path):
    folder = tmp_path / "site_jobs" / "management" / "commands"
    folder.mkdir(parents=True)
    (tmp_path / "shop.py").write_text(SHOP)
    imports = "import asyncio, signal\nfrom django.core.management import BaseCommand\n"
    (folder / "jobs.py").write_text(imports + "from shop import app\n" + snippet("BaseCommand"))
    (tmp_path / "manage.py").write_text(
        "from django.conf import settings\n"
        "from django.core.management import execute_from_command_line\n"
        "settings.configure(INSTALLED_APPS=['site_jobs'])\n"
        "execute_from_command_line(['manage.py', 'jobs'])\n"
    )
    url = f"http://127.0.0.1:{free_port()}"
    environment = {**os.environ, "ONTHEDOT_PORT": url.rpartition(":")[2]}
    process = subprocess.Popen([sys.executable, "manage.py"], cwd=tmp_path, env=environment)
    try:
        app: dict[str, Any] = {}
        exec(SHOP.replace("App()", f"App(server={url!r})"), app)
        run_id = str(eventually(lambda: _enqueued(app["greet"]), "an answer", within_s=20))
        assert eventually(greeted(app["app"], run_id), "the run")
        assert {job.name for job in Client(url).blocking.list_jobs()} == {"greet"}
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()


def _enqueued(greet: Any) -> str | None:
    try:
        return str(greet.blocking.enqueue(name="ana"))
    except OnthedotError:
        return None
