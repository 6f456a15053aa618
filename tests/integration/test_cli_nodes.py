"""Roles in processes of their own on PostgreSQL, and the commands that look at them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.test_cli_kit import Command, check_error
from tests.integration.test_nodes_kit import Cluster, Process, a_cluster
from tests.integration.test_server_kit import OVER, Json, lateness_us
from tests.support.receiver import Receiver
from tests.support.rest import Rest, eventually, instant_us

MS = 1_000


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with a_cluster(tmp_path) as cluster:
        yield cluster


@pytest.fixture
def commands(cluster: Cluster, tmp_path: Path) -> Command:
    """Without a server to speak to: for the commands that open the database."""
    return Command(tmp_path, "http://127.0.0.1:1")


def all_apart(cluster: Cluster, **environment: str) -> Process:
    """Every role in a process of its own; returns the one with the API."""
    api = cluster.start("api", **environment)
    others = [cluster.launch(role, **environment) for role in ("scheduler", "worker", "janitor")]
    for node in others:
        eventually(node.is_ready, f"a node that is ready as {node.roles}", within_s=20)
    return api


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Four nodes, each with one role and the API's first, for tests that leave them as they are."""
    with a_cluster(tmp_path_factory.mktemp("apart")) as cluster:
        all_apart(cluster)
        eventually(lambda: all(listens(node) for node in cluster.nodes), "nodes that listen")
        yield cluster


def listens(node: Process) -> bool:
    return "hints.listening" in node.said


def a_job(rest: Rest, receiver: Receiver, **fields: object) -> Json:
    body = {"name": "split", "handlerUrl": f"{receiver.url}/ok", **fields}
    job: Json = rest.made("/v1/jobs", body)
    return job


def over(rest: Rest, run_id: str) -> Json:
    found: list[Json] = []

    def look() -> bool:
        found[:] = [rest.get(f"/v1/runs/{run_id}").json]
        return found[0]["status"] in OVER

    eventually(look, f"the end of run {run_id}")
    return found[0]


def triggered(rest: Rest, job: Json, times: int) -> list[int]:
    """How late each of some triggered runs began, one after the other, in microseconds."""
    runs = []
    for _ in range(times):
        run_id = rest.made(f"/v1/jobs/{job['jobId']}/trigger", {})["runId"]
        runs.append(over(rest, run_id))
    assert {run["status"] for run in runs} == {"succeeded"}
    return [lateness_us(run) for run in runs]


def test_a_trigger_reaches_a_worker_in_another_process_at_once(apart, receiver):
    rest = apart.nodes[0].rest
    job = a_job(rest, receiver)

    late = triggered(rest, job, 10)

    assert max(late) < 200 * MS, late


def test_without_notifications_a_trigger_waits_for_the_poll_and_no_longer(cluster, receiver):
    rest = all_apart(cluster, ONTHEDOT_NOTIFY="no").rest
    job = a_job(rest, receiver)

    late = triggered(rest, job, 4)

    assert max(late) < 1_500 * MS, late
    assert not any(listens(node) for node in cluster.nodes)


def test_occurrences_and_delayed_runs_are_on_time_across_processes(apart, receiver):
    rest = apart.nodes[0].rest
    job = a_job(rest, receiver, every=1)
    delayed = rest.made(f"/v1/jobs/{job['jobId']}/trigger", {"delay": 2})["runId"]

    def runs() -> list[Json]:
        found: list[Json] = rest.get(f"/v1/jobs/{job['jobId']}/runs").json["runs"]
        return [run for run in found if run["status"] == "succeeded"]

    eventually(lambda: len(runs()) >= 4, "four runs")
    assert rest.patch(f"/v1/jobs/{job['jobId']}", {"paused": True}).status == 200
    late = [lateness_us(run) for run in [*runs(), over(rest, delayed)]]

    assert min(late) >= 0
    assert max(late) < 200 * MS, late


def test_every_node_is_seen_over_the_api_with_its_role(cluster):
    api = all_apart(cluster)

    def told() -> list[Json]:
        nodes: list[Json] = api.rest.get("/v1/nodes").json["nodes"]
        return nodes

    assert {tuple(node["roles"]) for node in told()} == {
        ("api",),
        ("scheduler",),
        ("worker",),
        ("janitor",),
    }
    assert {node["pid"] for node in told()} == {node.process.pid for node in cluster.nodes}
    assert all(node["alive"] and abs(node["clockOffsetMs"]) < 500 for node in told())

    assert cluster.nodes[1].stop() == 0
    gone = next(node for node in told() if node["roles"] == ["scheduler"])
    assert (gone["alive"], gone["load"]) == (False, None)


def test_the_load_of_a_worker_is_seen_while_it_works(apart, receiver):
    api = apart.nodes[0]
    job = a_job(api.rest, receiver, handlerUrl=f"{receiver.url}/hang", retries=0, timeout=30)
    run_id = api.rest.made(f"/v1/jobs/{job['jobId']}/trigger", {})["runId"]

    def running() -> list[int]:
        nodes = api.rest.get("/v1/nodes").json["nodes"]
        return [node["load"]["running"] for node in nodes if node["roles"] == ["worker"]]

    # The load alone does not tell whose attempt it is: a job of an earlier test may have one more.
    seen = f"/v1/runs/{run_id}"
    eventually(lambda: api.rest.get(seen).json["status"] == "running", "the run under way")
    eventually(lambda: running() == [1], "one attempt under way")
    assert api.rest.post(f"/v1/runs/{run_id}/cancel").status == 202
    assert over(api.rest, run_id)["status"] == "cancelled"
    eventually(lambda: running() == [0], "no attempt under way")


def test_nodes_are_listed_on_the_command_line(apart, tmp_path):
    api = apart.nodes[0]
    onthedot = Command(tmp_path, f"http://127.0.0.1:{api.port}")

    lines = onthedot.ok("node", "list").out.splitlines()

    headings = "NODE HOST PID ROLES SLOTS FUNCTIONS HEARTBEAT CLOCK VERSION"
    assert " ".join(lines[0].split()) == headings
    assert {line.split()[3] for line in lines[1:]} == {"api", "scheduler", "worker", "janitor"}
    listed = onthedot.ok("node", "list", "--json").json
    assert [node["nodeId"] for node in listed] == [line.split()[0] for line in lines[1:]]
    assert instant_us(listed[0]["joinedAt"]) <= instant_us(listed[0]["beatAt"])


@pytest.mark.parametrize(
    ("roles", "options", "said"),
    [
        ("scheduler", (), "scheduler"),
        ("worker", ("--slots", "7"), "worker (7 slots, all queues)"),
        ("worker,janitor", ("--queues", "a,b"), "worker (100 slots, queues a, b), janitor"),
        ("janitor", (), "janitor"),
    ],
)
def test_a_node_without_the_api_says_what_it_does(cluster, roles, options, said):
    node = cluster.start(roles, *options)

    ready = next(line for line in node.said.splitlines() if line.startswith("onthedot is ready"))
    assert ready == f"onthedot is ready: node 1, {said}"
    assert node.stop() == 0


def test_the_health_of_a_node_with_the_api_alone_is_its_own(cluster):
    node = cluster.start("api")

    health = node.rest.get("/health")

    assert (health.status, health.json["roles"], health.json["problems"]) == (200, ["api"], [])
    assert health.json["node"] == 1


def test_an_api_alone_says_so_while_the_database_is_away(cluster):
    node = cluster.start("api")

    with cluster.shut():
        eventually(lambda: node.rest.get("/health").status == 503, "a failing health")
        problems = node.rest.get("/health").json["problems"]

    assert any("heartbeat" in problem or "does not answer" in problem for problem in problems)
    eventually(lambda: node.rest.get("/health").status == 200, "a sound health", within_s=20)
    eventually(lambda: node.said.count("hints.listening") == 2, "a node that listens again")


def test_an_empty_database_is_set_up_by_the_first_server(cluster, commands):
    check_error(commands("db", "check", "--database", cluster.url), 1, "the database is empty")

    cluster.start("janitor")

    done = commands.ok("db", "check", "--database", cluster.url)
    assert done.out.endswith("up to date\n")


@pytest.mark.parametrize("command", [("db", "check"), ("db", "upgrade"), ("serve", "--port", "0")])
def test_a_database_of_somebody_else_is_left_alone(cluster, commands, command):
    cluster.tell("create table job (theirs text)")

    check_error(commands(*command, "--database", cluster.url), 1, "not onthedot's")


def test_what_an_extension_brings_along_does_not_make_a_database_somebody_elses(cluster, commands):
    cluster.tell("create view v as select 1")
    cluster.tell("alter extension plpgsql add view v")

    assert commands.ok("db", "upgrade", "--database", cluster.url).out


def test_a_newer_schema_is_refused_by_all(cluster, commands):
    commands.ok("db", "upgrade", "--database", cluster.url)
    cluster.tell("insert into onthedot_schema values (999, '')")

    for command in (("db", "check"), ("db", "upgrade"), ("serve", "--port", "0")):
        done = commands(*command, "--database", cluster.url)
        check_error(done, 1, "pip install --upgrade onthedot")


EDITED = "update onthedot_schema set fingerprint = md5(fingerprint) where number = 1"
BEFORE_FINGERPRINTS = (
    "drop table onthedot_schema;"
    " create table onthedot_schema (version integer not null);"
    " insert into onthedot_schema values (4)"
)


@pytest.mark.parametrize("made_by", [EDITED, BEFORE_FINGERPRINTS])
def test_a_schema_made_by_other_migrations_of_the_same_numbers_is_refused_by_all(
    cluster, commands, made_by
):
    commands.ok("db", "upgrade", "--database", cluster.url)
    cluster.tell(made_by)

    for command in (("db", "check"), ("db", "upgrade"), ("serve", "--port", "0")):
        done = commands(*command, "--database", cluster.url)
        check_error(done, 1, "another build of onthedot")
        assert "a new, empty database" in done.err
    checked = commands("db", "check", "--database", cluster.url, "--json")
    assert checked.json["state"] == "edited"


def test_an_upgrade_gives_up_on_a_lock_with_nothing_changed(cluster, commands):
    with cluster.holding("select pg_advisory_xact_lock(7031846750113)"):
        done = commands("db", "upgrade", "--database", cluster.url)

    check_error(done, 1, "somebody holds a lock")
    assert commands("db", "check", "--database", cluster.url, "--json").json["state"] == "empty"
    assert "schema 0 -> " in commands.ok("db", "upgrade", "--database", cluster.url).out
    assert "up to date already" in commands.ok("db", "upgrade", "--database", cluster.url).out


def test_a_database_that_does_not_answer_is_named_as_such(commands):
    nowhere = "postgresql://me:secret@127.0.0.1:1/none"

    done = commands("db", "check", "--database", nowhere)

    check_error(done, 1, "the database does not answer")
    assert "secret" not in done.err
