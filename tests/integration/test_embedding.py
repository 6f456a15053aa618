"""A node within a program: functions run there, are enqueued without a detour, and are drained."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from onthedot import App, Client, Context
from onthedot.errors import CannotStart, Invalid, WrongUse
from onthedot.wire import RunDetail
from tests.integration.test_server_kit import OVER

T = TypeVar("T")

UNREACHABLE = "http://127.0.0.1:9"


async def when(ask: Callable[[], Awaitable[T]], true: Callable[[T], object]) -> T:
    async with asyncio.timeout(20):
        while True:
            said = await ask()
            if true(said):
                return said
            await asyncio.sleep(0.005)


async def over(client: Client, run_id: str) -> RunDetail:
    return await when(lambda: client.get_run(run_id), lambda run: run.status in OVER)


@pytest.fixture
def app() -> App:
    app = App(server=UNREACHABLE)

    @app.job(name="greet", retries=0)
    def greet(name: str) -> str:
        if name == "ana":
            app.functions["greet"].blocking.enqueue(name="bo")
        return f"hello {name} from {threading.current_thread().name}"

    @app.job(name="tick", every=1)
    async def tick(ctx: Context) -> int:
        return id(asyncio.get_running_loop())

    @app.job(name="stubborn", retries=0, timeout=0.2)
    def stubborn() -> None:
        release.wait(20)

    @app.job(name="patient", retries=0)
    async def patient() -> None:
        await asyncio.sleep(60)

    return app


release = threading.Event()


def at(folder: Path) -> str:
    return f"sqlite:///{folder / 'shop.db'}"


async def test_functions_run_in_the_program_and_are_enqueued_without_a_server(app, tmp_path):
    greet, tick = app.functions["greet"], app.functions["tick"]
    async with app.node(database=at(tmp_path)) as node:
        run = await over(node.client, await greet.enqueue(name="ana"))
        assert run.status == "succeeded"
        assert "hello ana from " in str(run.output)
        assert threading.current_thread().name not in str(run.output)

        job = await node.client.find_job(tick.name)
        runs = await when(lambda: node.client.list_runs(job.job_id), len)
        first = await over(node.client, runs[-1].run_id)
        assert first.result == id(asyncio.get_running_loop())

        greeted = await node.client.list_runs((await node.client.find_job("greet")).job_id)
        assert len(greeted) == 2


async def test_a_run_under_way_is_drained_at_the_end_and_the_next_start_goes_on(app, tmp_path):
    ended: list[str] = []

    @app.job(name="lasting")
    async def lasting(word: str) -> None:
        started.set()
        await asyncio.sleep(0.1)
        ended.append(word)

    started = asyncio.Event()
    async with app.node(database=at(tmp_path)):
        await lasting.enqueue(word="a")
        later = await lasting.enqueue_in(3600, word="b")
        await started.wait()
    assert ended == ["a"]

    async with app.node(database=at(tmp_path)) as node:
        assert (await node.client.get_run(later)).status == "scheduled"


async def test_what_does_not_stop_in_time_is_left_alone_and_the_run_has_failed(
    app, tmp_path, monkeypatch
):
    monkeypatch.setattr("onthedot.embedded.inline.HALT_S", 0.1)
    release.clear()
    try:
        async with app.node(database=at(tmp_path)) as node:
            run = await over(node.client, await app.functions["stubborn"].enqueue())
            assert (run.status, run.error) == ("failed", "timed out after 200 ms")
    finally:
        release.set()


async def test_a_coroutine_is_cancelled(app, tmp_path):
    async with app.node(database=at(tmp_path)) as node:
        run_id = await app.functions["patient"].enqueue()
        await when(lambda: node.client.get_run(run_id), lambda run: run.status == "running")
        await node.client.cancel_run(run_id)
        assert (await over(node.client, run_id)).status == "cancelled"


async def test_with_the_role_it_answers_others_too(app, tmp_path):
    async with app.node(
        database=at(tmp_path), roles=("api", "scheduler", "worker", "janitor"), port=0
    ) as node:
        others = Client(node.url)
        assert {job.name for job in await others.list_jobs()} == set(app.functions)
    assert app.client is not node.client


async def test_a_blocking_call_that_would_wait_for_itself_is_refused(app, tmp_path):
    async with app.node(database=at(tmp_path)):
        with pytest.raises(Invalid) as refused:
            app.functions["greet"].blocking.enqueue(name="bo")

    assert refused.value.hint == "In a coroutine: await fn.enqueue(...)."


async def test_what_cannot_begin_says_so(app, tmp_path):
    async with app.node(database=at(tmp_path)):
        with pytest.raises(CannotStart, match="another server"):
            await app.node(database=at(tmp_path)).__aenter__()
    with pytest.raises(WrongUse, match="'runners' is no setting"):
        await app.node(runners=2).__aenter__()
    with pytest.raises(WrongUse, match="slots"):
        await app.node(database=at(tmp_path), slots="many").__aenter__()


async def test_a_program_that_is_cancelled_ends_its_node(app, tmp_path):
    entered = asyncio.Event()

    async def program() -> None:
        async with app.node(database=at(tmp_path)):
            entered.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(program())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    async with app.node(database=at(tmp_path)) as node:  # the lock is free again
        assert node.number == 2


def test_importing_the_app_loads_no_server():
    code = "import sys; from onthedot import App; App(); print('uvicorn' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert said.stdout == "False\n"
