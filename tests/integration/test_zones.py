"""Servers with different releases of the tz database: real files, real processes, both stores."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tests.integration.test_cli_kit import Command
from tests.integration.test_nodes_kit import a_cluster
from tests.support.rest import eventually
from tests.support.server import Server

DUBAI = "Asia/Dubai"


def tz_folder(folder: Path, release: str, dubai_is: str) -> dict[str, str]:
    """A tz database in which Dubai has the clocks of another place; the rest is the package's."""
    files = resources.files("tzdata.zoneinfo")
    place = folder / release
    for name, like in (("UTC", "UTC"), (DUBAI, dubai_is)):
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(files.joinpath(*like.split("/")).read_bytes())
    (place / "tzdata.zi").write_text(f"# version {release}\n")
    return {"PYTHONTZPATH": str(place)}


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str | None]:
    if request.param == "sqlite":
        yield None
        return
    with a_cluster(tmp_path) as cluster:
        yield cluster.url


def a_server(folder: Path, url: str | None, environment: dict[str, str]) -> Server:
    return Server(folder, url=url, environment=environment, options=("--grace", "1"))


def test_a_restart_with_new_tzdata_moves_what_comes_once_and_says_so(
    tmp_path: Path, url: str | None
) -> None:
    old = tz_folder(tmp_path, "2090a", DUBAI)
    new = tz_folder(tmp_path, "2090b", "Asia/Karachi")
    handler = "http://127.0.0.1:9/"
    daily = {"name": "report", "handlerUrl": handler, "cronExpr": "0 9 * * *", "timezone": DUBAI}
    steady = daily | {"name": "steady", "cronExpr": "*/20 * * * *"}

    with a_server(tmp_path, url, old) as server:
        job = server.rest.post("/v1/jobs", daily).json
        kept = server.rest.post("/v1/jobs", steady).json
        assert server.terminate() == 0
    with a_server(tmp_path, url, new) as server:
        moves = eventually(
            lambda: server.rest.get("/v1/zones").json["moves"], "the moves", within_s=20
        )
        seen = server.rest.get("/v1/zones").json["zones"]
        after = server.rest.get(f"/v1/jobs/{job['jobId']}").json
        same = server.rest.get(f"/v1/jobs/{kept['jobId']}").json
        audit = server.rest.get(f"/v1/jobs/{job['jobId']}/audit").json
        tzdata = server.rest.get("/health").json["tzdata"]
        onthedot = Command(tmp_path, server.url)
        shown = onthedot.ok("zone", "moves").out, onthedot.ok("zone", "list").out
        listed = onthedot.ok("zone", "moves", "--limit", "1", "--json").json

    assert job["nextRunAt"].endswith("T05:00:00Z")
    (move,) = moves
    assert (move["jobId"], move["jobName"], move["version"]) == (job["jobId"], "report", 2)
    assert (move["old"], move["tzdata"]) == (job["nextRunAt"], "2090b")
    assert move["new"].endswith("T04:00:00Z")
    assert [(zone["timezone"], zone["tzdata"]) for zone in seen] == [(DUBAI, "2090b")]
    assert after["nextRunAt"].endswith("T04:00:00Z")
    assert (same["version"], same["nextRunAt"] >= kept["nextRunAt"]) == (1, True)
    assert audit["balanced"]
    assert tzdata == "2090b (system)"
    assert all(word in shown[0] for word in (job["jobId"], "report", DUBAI, move["new"]))
    assert "2090b" in shown[1]
    assert listed == moves
    if url is not None:
        check_that_an_older_one_undoes_nothing(a_server(tmp_path, url, old), after)


def check_that_an_older_one_undoes_nothing(server: Server, job: dict[str, Any]) -> None:
    with server:
        back = server.rest.get(f"/v1/jobs/{job['jobId']}").json

        assert (back["version"], back["nextRunAt"]) == (2, job["nextRunAt"])
        assert "zone.older zone=Asia/Dubai ours=2090a" in server.log.read_text()
