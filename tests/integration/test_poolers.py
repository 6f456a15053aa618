"""PostgreSQL behind a pooler in transaction mode: our own, and PgBouncer where it is installed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import asyncpg
import pytest

from onthedot.errors import StoreError
from onthedot.store.postgres import PoolSettings, open_store
from onthedot.store.postgres import hints as hints_module
from tests.integration.test_cli_kit import Command, check_error
from tests.integration.test_hints import soon, talking
from tests.integration.test_nodes_kit import Cluster, Process, a_cluster
from tests.integration.test_server_kit import OVER, Json, lateness_us
from tests.support.builders import facts
from tests.support.pooler import POOLERS, Pooler, pooled
from tests.support.postgres import drop_database, new_database
from tests.support.rest import Rest, eventually

MS = 1_000
UNPREPARED = {"ONTHEDOT_PREPARED": "no"}
SILENT = {**UNPREPARED, "ONTHEDOT_NOTIFY": "no"}
READY_S = 20.0


@pytest.fixture(params=POOLERS)
def pooler(request: pytest.FixtureRequest) -> Pooler:
    return pooled(request.param)


@pytest.fixture
def behind(pooler: Pooler, tmp_path: Path) -> Iterator[Cluster]:
    with a_cluster(tmp_path, pooler=pooler) as cluster:
        yield cluster


@asynccontextmanager
async def a_database(pooler: Pooler) -> AsyncIterator[str]:
    name = await new_database(pooler.server)
    await pooler.fill(name)
    try:
        yield name
    finally:
        await drop_database(pooler.server, name)


@asynccontextmanager
async def a_client(pooler: Pooler) -> AsyncIterator[asyncpg.Connection]:
    async with a_database(pooler) as name:
        client = await asyncpg.connect(pooler.url(name), statement_cache_size=0)
        try:
            yield client
        finally:
            await client.close()


# What a pooler takes away

HELD = "select 1 from pg_locks where (objid, pid) = (7, pg_backend_pid())"


async def test_every_transaction_has_a_session_of_its_own(pooler):
    async with a_client(pooler) as client:
        apart = [await client.fetchval("select pg_backend_pid()") for _ in range(4)]
        async with client.transaction():
            together = [await client.fetchval("select pg_backend_pid()") for _ in range(4)]

    assert all(one != next_one for one, next_one in pairwise(apart))
    assert len(set(together)) == 1


@pytest.mark.parametrize(
    ("kept", "asked"),
    [
        ("create temp table mine ()", "select to_regclass('mine')::text"),
        ("set lock_timeout = '7s'", "select substring(current_setting('lock_timeout'), '7s')"),
        ("listen mine", "select pg_listening_channels()"),
        ("select pg_advisory_lock(7)", HELD),
        ("prepare mine as select 1", "select name from pg_prepared_statements where name = 'mine'"),
    ],
)  # fmt: skip
async def test_what_a_session_keeps_is_gone_in_the_next_transaction(pooler, kept, asked):
    async with a_client(pooler) as client:
        await client.execute(kept)

        assert await client.fetchval(asked) is None


# What onthedot says and does there


async def test_prepared_statements_fail_there_and_the_error_names_the_setting(pooler):
    async with a_database(pooler) as name:
        with pytest.raises(StoreError) as refused:
            await beat_there(pooler.url(name), PoolSettings(prepared=True))

    assert "set prepared = no" in str(refused.value)


async def beat_there(url: str, pool: PoolSettings) -> None:
    store = await open_store(url, pool=pool)
    try:
        node = await store.nodes.join(facts(), now=1)
        for now in range(10):
            await store.nodes.beat(node, now=now)
    finally:
        await store.upkeep.close()


def test_a_server_that_prepares_statements_refuses_to_start_and_says_what_to_set(behind, tmp_path):
    serve = Command(tmp_path, "http://127.0.0.1:1")

    done = serve("serve", "--port", "0", "--database", behind.url)

    check_error(done, 1, "set prepared = no")


def test_the_commands_that_open_the_database_work_there(behind, tmp_path):
    onthedot = Command(tmp_path, "http://127.0.0.1:1")
    there = ("--database", behind.url)
    empty = onthedot("db", "check", *there, "--json", **UNPREPARED)
    upgraded = onthedot("db", "upgrade", *there, **UNPREPARED)
    checked = onthedot("db", "check", *there, **UNPREPARED)

    assert (empty.code, empty.json["state"]) == (1, "empty")
    assert "schema 0 -> " in upgraded.out
    assert checked.out.endswith("up to date\n")


async def test_notifications_do_not_arrive_there_and_it_says_so_but_still_tells(
    pooler, monkeypatch, caplog
):
    monkeypatch.setattr(hints_module, "HELLO_S", 0.3)
    async with (
        a_database(pooler) as name,
        talking(pooler.url(name), listening=False) as deaf,
        talking(pooler.server.url(name)) as other,
    ):
        await soon(lambda: "hints.deaf" in caplog.text)
        deaf.hints.tell("queue")
        await soon(lambda: other.heard == ["queue"])

        assert not deaf.hints.listening


def test_a_node_listens_past_the_pooler_where_it_is_told_to(pooler, behind):
    past = pooler.server.url(behind.name)
    node = behind.launch("worker", **UNPREPARED, ONTHEDOT_NOTIFY=past)

    eventually(lambda: "hints." in node.said, "a word about hints", within_s=READY_S)
    assert "hints.listening" in node.said


def all_apart(cluster: Cluster, **environment: str) -> Rest:
    """A scheduler, a worker, and one node with the rest, whose API is returned."""
    api = cluster.start("api,janitor", **environment)
    for roles in ("scheduler", "worker"):
        cluster.launch(roles, **environment)
    for node in cluster.nodes:
        eventually(node.is_ready, f"a node that is ready as {node.roles}", within_s=READY_S)
    return api.rest


def over(rest: Rest, run_id: str) -> Json:
    found: list[Json] = []

    def look() -> bool:
        found[:] = [rest.get(f"/v1/runs/{run_id}").json]
        return found[0]["status"] in OVER

    eventually(look, f"the end of run {run_id}")
    return found[0]


def a_job(rest: Rest, url: str, **fields: object) -> Json:
    job: Json = rest.made("/v1/jobs", {"name": "pooled", "handlerUrl": url, **fields})
    return job


def succeeded(rest: Rest, job: Json) -> list[Json]:
    runs: list[Json] = rest.get(f"/v1/jobs/{job['jobId']}/runs").json["runs"]
    return [run for run in runs if run["status"] == "succeeded"]


def triggered(rest: Rest, job: Json, **fields: object) -> str:
    run_id: str = rest.made(f"/v1/jobs/{job['jobId']}/trigger", fields)["runId"]
    return run_id


def test_a_cluster_without_notifications_does_all_its_work_there(behind, receiver):
    rest = all_apart(behind, **SILENT)
    steady = [a_job(rest, f"{receiver.url}/ok", every=1) for _ in range(20)]
    moody = a_job(rest, f"{receiver.url}/fail-times/1", backoff={"initial": 0.1, "max": 0.1})
    hanging = a_job(rest, f"{receiver.url}/hang", retries=0, timeout=30)

    retried = over(rest, triggered(rest, moody))
    stuck = triggered(rest, hanging)
    eventually(lambda: receiver.calls_of(stuck), "a callback in progress")
    asked = rest.post(f"/v1/runs/{stuck}/cancel").status
    put_off = rest.post(f"/v1/runs/{triggered(rest, moody, delay=60)}/cancel").status
    eventually(lambda: all(len(succeeded(rest, job)) >= 4 for job in steady), "four runs of each")
    edited = rest.patch(f"/v1/jobs/{steady[0]['jobId']}", {"paused": True}).status
    deleted = rest.delete(f"/v1/jobs/{steady[1]['jobId']}").status
    late = [lateness_us(run) for job in steady[2:] for run in succeeded(rest, job)]

    assert (retried["status"], retried["attempt"]) == ("succeeded", 2)
    assert (asked, over(rest, stuck)["status"], put_off) == (202, "cancelled", 200)
    assert (edited, deleted) == (200, 204)
    assert min(late) >= 0
    assert max(late) < 1_500 * MS, late
    check_quiet(behind.nodes)
    assert {node.stop() for node in behind.nodes} == {0}


def check_quiet(nodes: list[Process]) -> None:
    """No role has met an error, and nobody has been taken for dead."""
    for node in nodes:
        loud = [line for line in node.said.splitlines() if " WARNING " in line or "rror" in line]
        assert not loud, f"{node.roles}: {loud[:5]}"
