"""The testing kit: functions in virtual time, over a whole node in memory."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta

import pytest

from onthedot import App, Context
from onthedot.errors import Invalid
from onthedot.testing import node


@pytest.fixture
def app() -> App:
    app = App()

    @app.job(name="daily", cron="0 2 * * *", timezone="Europe/Berlin")
    def daily(ctx: Context) -> str:
        return ctx.scheduled_for.isoformat()

    @app.job(name="greet")
    def greet(name: str, times: int = 1) -> str:
        return " ".join([f"hello {name}"] * times)

    @app.job(name="flaky", retries=2, backoff={"initial": 60, "factor": 10, "max": 3600})
    async def flaky(ctx: Context) -> int:
        if ctx.attempt < 3:
            raise LookupError(f"not yet: {ctx.attempt}")
        return ctx.attempt

    @app.job(name="chain")
    async def chain(left: int) -> None:
        if left:
            await app.functions["chain"].enqueue(left=left - 1)

    @app.job(name="blocking-chain")
    def blocking_chain(left: int) -> str:
        if left:
            app.functions["blocking-chain"].blocking.enqueue(left=left - 1)
        return threading.current_thread().name

    @app.job(name="patient", timeout=30, retries=0)
    async def patient() -> None:
        await asyncio.Event().wait()

    return app


def test_a_year_of_a_daily_job_runs_every_day_at_its_hour(app):
    daily = app.functions["daily"]
    with node(app) as here:
        here.clock.advance(days=365)
        runs = here.runs(daily)

        assert here.clock.now() == datetime(2027, 1, 1, tzinfo=UTC)

    assert len(runs) == 365
    assert {run.status for run in runs} == {"succeeded"}
    # Two o'clock in Berlin is one in the winter and midnight in the summer; the last Sunday of
    # March has none, and three o'clock stands in for it.
    assert {run.scheduled_for.hour for run in runs} == {0, 1}
    assert all(run.started_at == run.scheduled_for for run in runs)
    assert runs[0].result == "2026-01-01T01:00:00+00:00"


def test_what_is_due_happens_and_nothing_else(app):
    daily = app.functions["daily"]
    with node(app, at=datetime(2026, 6, 1, tzinfo=UTC)) as here:
        here.clock.advance(hours=23, minutes=59)
        before = here.runs(daily)
        here.clock.advance(timedelta(minutes=1))

        assert [run.scheduled_for.day for run in before] == []
        assert [run.scheduled_for for run in here.runs(daily)] == [datetime(2026, 6, 2, tzinfo=UTC)]


def test_retries_and_their_waits_happen_in_virtual_time(app):
    flaky = app.functions["flaky"]
    with node(app) as here:
        run_id = flaky.blocking.enqueue()
        here.drain()
        [waiting] = here.runs(flaky)
        assert (waiting.status, waiting.attempt) == ("scheduled", 2)
        assert str(waiting.error).startswith("LookupError: not yet: 1\n")

        here.clock.advance(minutes=1)
        assert here.runs(flaky)[0].attempt == 3
        here.clock.advance(minutes=10)

        [run] = here.runs(flaky)
        attempts = here.client.get_run(run_id).attempts
    # A wait is moved over its upper half; here it is always the middle of that.
    assert (run.status, run.result) == ("succeeded", 3)
    assert run.finished_at == waiting.scheduled_for + timedelta(seconds=45 + 450)
    assert [attempt.status for attempt in attempts] == ["failed", "failed", "succeeded"]


def test_what_was_enqueued_is_found_by_some_of_its_arguments(app):
    greet = app.functions["greet"]
    with node(app) as here:
        first = greet.blocking.enqueue(name="ana", times=2)
        greet.blocking.enqueue_in(timedelta(hours=1), name="bo")
        greet.blocking.enqueue_many([{"name": "cy"}, {"name": "ana"}])

        assert [each.run_id for each in here.enqueued(greet, name="ana", times=2)] == [first]
        assert len(here.enqueued(greet, name="ana")) == 2
        assert [each.when for each in here.enqueued(greet, name="bo")] == [
            {"delay": timedelta(hours=1)}
        ]
        assert here.enqueued(greet, name="dee") == []
        assert len(here.enqueued(greet)) == 4
        here.drain()
        done = [run.result for run in here.runs(greet) if run.status == "succeeded"]
        assert sorted(done) == ["hello ana", "hello ana hello ana", "hello cy"]


@pytest.mark.parametrize("name", ["chain", "blocking-chain"])
def test_what_functions_enqueue_runs_too(app, name):
    with node(app) as here:
        app.functions[name].blocking.enqueue(left=3)
        here.drain()

        runs = here.runs(app.functions[name])
        left = [each.arguments["left"] for each in here.enqueued(app.functions[name])]
    assert [run.status for run in runs] == ["succeeded"] * 4
    assert left == [3, 2, 1, 0]


def test_in_a_plain_test_functions_run_in_its_own_thread(app):
    with node(app) as here:
        app.functions["blocking-chain"].blocking.enqueue(left=0)
        here.drain()

        [run] = here.runs()
    assert run.result == threading.current_thread().name


def test_a_function_that_lasts_meets_its_timeout(app):
    patient = app.functions["patient"]
    with node(app, patience_s=0.05) as here:
        patient.blocking.enqueue()
        here.clock.advance(seconds=2)
        assert [run.status for run in here.runs(patient)] == ["running"]

        here.clock.advance(minutes=1)

        [run] = here.runs(patient)
    assert (run.status, run.error) == ("failed", "timed out after 30 s")
    assert run.started_at is not None
    assert run.finished_at == run.started_at + timedelta(seconds=30)


def test_what_a_function_keeps_for_the_next_attempt_is_there(app):
    @app.job(name="steps", retries=5)
    def steps(ctx: Context) -> int:
        done = (ctx.checkpoint_value or 0) + 1
        ctx.log.info("step %s", done)
        ctx.checkpoint(done)
        if done < 3:
            raise LookupError("more to do")
        return done

    with node(app) as here:
        steps.blocking.enqueue()
        here.clock.advance(hours=1)

        [run] = here.runs(steps)
    assert (run.attempt, run.result) == (3, 3)


def test_a_node_is_a_whole_one_with_its_api(app):
    with node(app) as here:
        job = here.client.find_job("daily")
        here.client.edit_job(job.job_id, paused=True)
        here.clock.advance(days=3)
        here.client.edit_job(job.job_id, paused=False)
        here.clock.advance(days=1)

        statuses = [run.status for run in here.runs(app.functions["daily"])]
        refused = here.client.create_job("a callback", handler_url="http://127.0.0.1:9/", delay=1)
        here.clock.advance(seconds=1)
        [call] = here.client.list_runs(refused.job_id)
    assert statuses == ["skipped", "succeeded"]
    assert (call.status, call.error) == (
        "failed",
        "the testing kit calls functions only, not http://127.0.0.1:9/",
    )


def test_time_does_not_go_back_and_has_a_zone(app):
    with pytest.raises(Invalid, match="no time zone"):
        node(app, at=datetime(2026, 1, 1))  # noqa: DTZ001
    with node(app) as here, pytest.raises(Invalid, match="does not go back"):
        here.clock.advance(days=-1)


async def test_in_a_coroutine_the_same_is_awaited(app):
    greet, flaky = app.functions["greet"], app.functions["flaky"]
    async with node(app) as here:
        await greet.enqueue(name="ana")
        await flaky.enqueue()
        await here.drain()
        assert [run.result for run in here.runs(greet)] == ["hello ana"]

        await here.clock.advance(hours=5)
        assert [run.result for run in here.runs(flaky)] == [3]
        assert len(here.runs(app.functions["daily"])) == 1
        assert [job.name for job in await here.client.list_jobs()][-1] == "daily"


async def test_in_a_coroutine_functions_run_on_the_loop_of_the_test_and_in_its_threads(app):
    seen: list[object] = []
    arrived = asyncio.Event()

    @app.job(name="on-the-loop")
    async def on_the_loop() -> None:
        seen.append(asyncio.get_running_loop())
        await arrived.wait()

    async with node(app) as here:
        await on_the_loop.enqueue()
        await app.functions["blocking-chain"].enqueue(left=1)
        asyncio.get_running_loop().call_later(0.01, arrived.set)
        await here.drain()

        assert seen == [asyncio.get_running_loop()]
        threads = [run.result for run in here.runs(app.functions["blocking-chain"])]
        assert len(threads) == 2
        assert threading.current_thread().name not in threads
        with pytest.raises(Invalid, match="would wait for the loop that it holds up"):
            on_the_loop.blocking.enqueue()


async def test_a_blocking_node_in_a_coroutine_is_refused_with_the_way(app):
    with pytest.raises(Invalid) as refused:
        node(app).__enter__()

    assert "async with" in refused.value.hint


def test_after_the_node_functions_go_to_the_server_again(app):
    before = app.client

    with node(app):
        assert app.client is not before

    assert app.client is before


def test_the_fixture_gives_a_node_and_loads_nothing_before(tmp_path):
    (tmp_path / "test_shop.py").write_text(
        """
import sys
from onthedot import App

app = App()

@app.job(name="greet")
def greet(name: str): return f"hello {name}"

def test_nothing_is_loaded(request):
    assert "uvicorn" not in sys.modules

def test_greet(onthedot_node):
    node = onthedot_node(app)
    greet.blocking.enqueue(name="ana")
    node.drain()
    assert [run.result for run in node.runs(greet)] == ["hello ana"]
"""
    )
    said = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_shop.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert "2 passed" in said.stdout, said.stdout + said.stderr
