"""Python functions as jobs, in runner processes of a real server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.integration.test_server_kit import Stage
from tests.support.receiver import Receiver
from tests.support.rest import eventually
from tests.support.server import ONTHEDOT, Server

APP = """
import asyncio, logging, os, signal, sys, time
from onthedot import App, Context

app = App()


@app.job(name="tick", every=1)
async def tick(ctx: Context):
    return {"attempt": ctx.attempt, "due": ctx.scheduled_for.isoformat()}


@app.job(name="greet", retries=0)
def greet(name: str, times: int = 1) -> str:
    return f"hello {name}" * times


@app.job(name="flaky", retries=2, backoff={"initial": 0.1, "factor": 1, "max": 0.1})
async def flaky(ctx):
    if ctx.attempt < 3:
        raise LookupError(f"not yet: {ctx.attempt}")
    return ctx.attempt


@app.job(name="choosy", retries=1, backoff={"initial": 3600, "factor": 1, "max": 3600})
def choosy(ctx):
    if ctx.attempt == 1:
        ctx.retry("the till is busy", after=0.2)
    return "x" * 100_000


@app.job(name="talker", retries=1, backoff={"initial": 0.1, "factor": 1, "max": 0.1})
async def talker(ctx):
    print("hello from", ctx.attempt)
    logging.getLogger("shop").info("at work")
    ctx.log.debug("page %d", 1)
    ctx.progress(1, 3, "orders")
    await asyncio.to_thread(print, "from a thread")
    left = ctx.checkpoint_value
    ctx.checkpoint({"page": ctx.attempt})
    if ctx.attempt == 1:
        print("no end", end="")
        raise LookupError("once")
    return left


@app.job(name="chatty", timeout=60)
def chatty(ctx):
    for number in range(3):
        ctx.progress(number)
        print("line", number, file=sys.stderr)
        while not os.path.exists(f"go-{number}"):
            time.sleep(0.01)


@app.job(name="noisy")
def noisy():
    for number in range(20_000):
        print("line", number)


@app.job(name="crashing", retries=0)
def crashing(ctx):
    if ctx.checkpoint_value is not None:
        return ctx.checkpoint_value
    ctx.checkpoint("was here")
    time.sleep(1)
    os.kill(os.getpid(), signal.SIGKILL)


@app.job(name="hopeless", retries=5)
def hopeless(ctx):
    ctx.fail("no card on file")


@app.job(name="stubborn", timeout=0.5, retries=0)
def stubborn():
    time.sleep(60)


@app.job(name="patient")
async def patient():
    await asyncio.sleep(60)


@app.job(name="segfault", retries=0)
def segfault():
    os.kill(os.getpid(), signal.SIGSEGV)


@app.job(name="slow")
def slow(seconds: float):
    time.sleep(seconds)
    return os.getpid()


@app.job(name="blocking")
async def blocking():
    time.sleep(1.6)
"""


@pytest.fixture(scope="module")
def apps(tmp_path_factory: pytest.TempPathFactory, receiver: Receiver) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("functions")
    (folder / "shop.py").write_text(APP)
    with Server(folder, options=("--app", "shop:app", "--runners", "2")) as server:
        yield Stage(server, receiver)


@pytest.fixture
def onthedot_at() -> Callable[..., subprocess.Popen[str]]:
    def started(stage: Stage, *words: str) -> subprocess.Popen[str]:
        env = {"ONTHEDOT_SERVER": stage.server.url, "PATH": ""}
        return subprocess.Popen([ONTHEDOT, *words], env=env, stdout=subprocess.PIPE, text=True)

    return started


def keyed(stage: Stage, key: str) -> dict[str, object]:
    [job] = stage.rest.get("/v1/jobs", key=key).json["jobs"]
    return dict(job)


def ended(stage: Stage, key: str, **payload: object) -> dict[str, object]:
    return stage.over(stage.trigger(keyed(stage, key), payload=payload), within_s=30)


def test_declared_jobs_are_there_and_fire(apps):
    job = keyed(apps, "tick")

    assert (job["handler"], job["handlerUrl"], job["every"]) == ("tick", None, 1)
    eventually(lambda: "succeeded" in {run["status"] for run in apps.runs(job)}, "a run")
    ran = [run for run in apps.runs(job) if run["status"] == "succeeded"]
    assert ran[0]["output"].startswith('{"attempt":1,"due":"2')


def test_a_worker_shows_which_functions_it_has_and_in_how_many_runners(apps, onthedot_at):
    [node] = apps.rest.get("/v1/nodes").json["nodes"]
    told, _ = onthedot_at(apps, "node", "list").communicate(timeout=60)

    assert {"greet", "tick"} <= set(node["functions"])
    assert node["runners"] == 2
    assert "in 2 runners" in told


def test_a_function_gets_the_payload_and_its_result_is_kept(apps):
    run = ended(apps, "greet", name="ana", times=2)

    assert (run["status"], run["output"]) == ("succeeded", '"hello anahello ana"')


def test_a_payload_that_does_not_fit_fails_at_once_and_says_what_would(apps):
    run = ended(apps, "greet", nam="ana")

    assert (run["status"], run["reason"], run["attempt"]) == ("failed", "not retryable", 1)
    assert "unknown field `nam`" in str(run["error"])


def test_an_exception_is_kept_with_its_trace_and_tried_again(apps):
    run = ended(apps, "flaky")

    assert (run["status"], run["attempt"], run["output"]) == ("succeeded", 3, "3")
    [first, *_] = apps.run(str(run["runId"]))["attempts"]
    assert first["error"].startswith("LookupError: not yet: 1\n")
    assert "shop.py" in first["error"]


def test_a_function_may_give_up_for_good(apps):
    run = ended(apps, "hopeless")

    assert (run["status"], run["attempt"]) == ("failed", 1)
    assert run["error"] == "no card on file"


def test_a_function_may_say_when_to_try_again_and_returns_more_than_a_callback_may(apps):
    run = ended(apps, "choosy")

    assert (run["status"], run["attempt"], len(str(run["output"]))) == ("succeeded", 2, 100_002)
    assert apps.run(str(run["runId"]))["attempts"][0]["error"] == "the till is busy"


def test_a_function_that_does_not_end_is_killed_and_its_neighbours_run_again(apps):
    neighbours = [apps.trigger(keyed(apps, "slow"), payload={"seconds": 3}) for _ in range(4)]
    run = ended(apps, "stubborn")

    assert (run["status"], run["error"]) == ("failed", "timed out after 500 ms")
    for each in neighbours:
        ran = apps.over(each, within_s=30)
        assert (ran["status"], ran["attempt"]) == ("succeeded", 1)


def test_a_coroutine_is_cancelled(apps):
    run_id = apps.trigger(keyed(apps, "patient"))
    apps.when(run_id, lambda run: run["status"] == "running", "the start")

    assert apps.rest.post(f"/v1/runs/{run_id}/cancel").status == 202
    assert apps.over(run_id)["status"] == "cancelled"


def test_a_function_that_kills_its_process_is_quarantined_and_costs_nobody_a_run(apps):
    neighbours = [apps.trigger(keyed(apps, "slow"), payload={"seconds": 0.5}) for _ in range(4)]
    run = ended(apps, "segfault")
    callback = apps.ran("/ok")

    assert (run["status"], run["reason"]) == ("failed", "not retryable")
    assert run["error"] == "quarantined: its runner process was killed by SIGSEGV, 3 times"
    assert callback["status"] == "succeeded"
    for each in neighbours:
        ran = apps.over(each, within_s=30)
        assert (ran["status"], ran["attempt"], ran["rescues"]) == ("succeeded", 1, 0)


def test_a_coroutine_that_blocks_its_loop_is_named(apps):
    ended(apps, "blocking")

    lines = apps.server.log.read_text().splitlines()
    blocked = [line for line in lines if "runner.blocked" in line]
    assert "function=blocking" in blocked[-1]
    assert "in blocking" in blocked[-1]


def test_a_run_of_a_function_that_nobody_has_waits(apps):
    body = {"name": "orphan", "handler": "nobody.has.it"}
    job = apps.rest.made("/v1/jobs", body)
    run_id = apps.trigger(job)

    assert ended(apps, "greet", name="bo")["status"] == "succeeded"
    assert apps.run(run_id)["status"] == "queued"
    assert apps.rest.patch(f"/v1/jobs/{job['jobId']}", {"handler": "patient"}).status == 200
    apps.when(run_id, lambda run: run["status"] == "running", "the start")


def test_functions_are_enqueued_from_python(apps, tmp_path):
    (tmp_path / "shop.py").write_text(APP)
    script = """
import asyncio
from shop import greet

async def main():
    ids = [await greet.enqueue(name="ana"), await greet.enqueue_in(0.2, name="bo")]
    return ids + await greet.enqueue_many([{"name": "c"}, {"name": "d"}])

print(*asyncio.run(main()), greet.blocking.enqueue(name="eve"))
"""
    said = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"ONTHEDOT_SERVER": apps.server.url, "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert said.returncode == 0, said.stderr
    outputs = [apps.over(run_id)["output"] for run_id in said.stdout.split()]
    assert outputs == [f'"hello {name}"' for name in ("ana", "bo", "c", "d", "eve")]


# What functions say


def logs(stage: Stage, run_id: object, **query: object) -> dict[str, Any]:
    return dict(stage.rest.get(f"/v1/runs/{run_id}/logs", **query).json)


def said(stage: Stage, run_id: object) -> list[tuple[int, str, str]]:
    lines = logs(stage, run_id)["lines"]
    return [(line["attempt"], line["level"], line["text"]) for line in lines]


def test_what_a_function_prints_and_logs_is_kept_with_its_run(apps):
    run = ended(apps, "talker")

    assert said(apps, run["runId"]) == [
        (1, "stdout", "hello from 1"),
        (1, "info", "shop: at work"),
        (1, "debug", "page 1"),
        (1, "stdout", "from a thread"),
        (1, "stdout", "no end"),
        (2, "stdout", "hello from 2"),
        (2, "info", "shop: at work"),
        (2, "debug", "page 1"),
        (2, "stdout", "from a thread"),
    ]
    assert "hello from" not in apps.server.log.read_text()


def test_a_checkpoint_is_there_for_the_next_attempt_and_progress_for_people(apps):
    run = ended(apps, "talker")

    assert (run["status"], run["output"]) == ("succeeded", '{"page":1}')
    assert run["progress"] == {"done": 1, "total": 3, "text": "orders"}


def test_a_checkpoint_outlives_the_death_of_its_runner(apps):
    run = ended(apps, "crashing")

    assert (run["status"], run["attempt"], run["output"]) == ("succeeded", 1, '"was here"')


def test_what_a_run_says_can_be_followed(apps, onthedot_at):
    run_id = apps.trigger(keyed(apps, "chatty"))
    eventually(lambda: logs(apps, run_id)["lines"], "the first line")
    first = logs(apps, run_id)
    assert [line["text"] for line in first["lines"]] == ["line 0"]
    assert logs(apps, run_id, after=first["next"])["lines"] == []
    assert apps.run(run_id)["progress"] == {"done": 0, "total": None, "text": ""}

    following = onthedot_at(apps, "run", "logs", run_id, "--follow")
    for number in range(3):
        (apps.server.log.parent / f"go-{number}").touch()
    told, _ = following.communicate(timeout=60)

    assert following.returncode == 0
    assert [line.split()[-3:] for line in told.splitlines()] == [
        ["stderr", "line", str(number)] for number in range(3)
    ]
    rest = logs(apps, run_id, after=first["next"])
    assert [line["text"] for line in rest["lines"]] == ["line 1", "line 2"]
    assert (rest["more"], rest["status"]) == (False, "succeeded")


def test_who_says_too_much_is_cut_in_the_middle(apps):
    lines = said(apps, ended(apps, "noisy")["runId"])

    assert (lines[0][2], lines[-1][2]) == ("line 0", "line 19999")
    [cut] = [text for _, level, text in lines if level == "cut"]
    assert cut.startswith("… [cut: 1")
    assert sum(len(text) for _, _, text in lines) < 64 * 1024 + 100


def test_logs_are_asked_for_as_they_should_be(apps):
    run = ended(apps, "greet", name="ana")
    path = f"/v1/runs/{run['runId']}/logs"

    assert logs(apps, run["runId"])["lines"] == []
    other = logs(apps, ended(apps, "greet", name="bo")["runId"])["next"]
    assert apps.rest.get(path, after=other).status == 422
    assert apps.rest.get(path, cursor="x").json["field"] == "cursor"
    assert apps.rest.get("/v1/runs/nothing/logs").status == 404
