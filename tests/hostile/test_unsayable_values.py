"""Functions that raise, or write, what no message can carry: they fail at once and by name, and the
calls beside them in the same process end as ever.
"""

from __future__ import annotations

from pathlib import Path

from tests.support.rest import eventually
from tests.support.server import Server

ENDS_S = 20.0
"""A fraction of the timeouts by which these calls would end anyway."""

APP = """
import asyncio, os
from onthedot import App

app = App()


async def together():
    await asyncio.sleep(1 - asyncio.get_running_loop().time() % 1)


@app.job(name="neighbour", timeout=300, retries=0)
async def neighbour():
    await together()
    return "done"


@app.job(name="file", timeout=300, retries=0)
def file():
    os.stat(os.fsdecode(b"caf\\xe9"))


@app.job(name="fails", timeout=300, retries=0)
async def fails(ctx):
    await together()
    ctx.fail(os.fsdecode(b"caf\\xe9"))


@app.job(name="number", timeout=300, retries=0, guarantee="exactly_once")
async def number(ctx):
    async with ctx.transaction() as connection:
        await connection.execute("create table if not exists note (x)")
        await together()
        await connection.execute("insert into note values ($1)", 2**70)


@app.job(name="much", timeout=300, retries=0, guarantee="exactly_once")
async def much(ctx):
    async with ctx.transaction() as connection:
        await connection.execute("create table if not exists note (x)")
        await connection.executemany("insert into note values ($1)", [["x" * 900_000]] * 80)
        await together()
"""
WORDS = {"file": "caf\\udce9", "fails": "caf\\udce9", "number": "71 bits", "much": "too many"}


def test_what_cannot_be_said_fails_its_own_run_and_no_other(tmp_path: Path):
    (tmp_path / "shop.py").write_text(APP)
    with Server(tmp_path, options=("--app", "shop:app", "--runners", "1")) as server:
        jobs = {each["key"]: each["jobId"] for each in server.rest.get("/v1/jobs").json["jobs"]}
        names = ["neighbour", *WORDS, "neighbour"]
        runs = [(n, server.rest.made(f"/v1/jobs/{jobs[n]}/trigger", {})["runId"]) for n in names]

        for name, run_id in runs:

            def over(run_id: str = run_id) -> bool:
                status = server.rest.get(f"/v1/runs/{run_id}").json["status"]
                return status in ("succeeded", "failed", "lost")

            eventually(over, f"the end of {name}", within_s=ENDS_S)
            run = server.rest.get(f"/v1/runs/{run_id}").json
            if name == "neighbour":
                assert (run["status"], run["rescues"]) == ("succeeded", 0)
            else:
                assert run["status"] == "failed"
                assert WORDS[name] in run["error"]
        assert "runner.died" not in server.log.read_text()
