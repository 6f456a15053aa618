"""The audit over HTTP and on the command line, and the janitor's rounds."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from onthedot.api import audit as routes
from onthedot.core.instants import MINUTE
from onthedot.core.model import occurrence
from onthedot.ids import parse_job_id
from onthedot.roles.auditor import PART_S, ROUND_S, Auditor
from onthedot.store.claims import Lessee
from tests.integration.test_api_kit import Api, an_api, check_problem
from tests.integration.test_cli_kit import Command, check_error
from tests.support.builders import a_node, claim, plan


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with an_api() as api:
        yield api


@pytest.mark.parametrize("prefix", ["/v1", ""])
async def test_the_books_of_a_job_and_of_all_jobs_balance(api: Api, prefix: str):
    node = await a_node(api.store, api.clock)
    job = (await api.job(every=60, catchUp="none"))["jobId"]
    api.clock.advance(5 * MINUTE)
    await claim(api.store, api.clock, node)

    one = (await api.call("GET", f"{prefix}/jobs/{job}/audit")).json()
    everything = (await api.call("GET", f"{prefix}/audit")).json()

    assert (one["due"], one["jobs"], one["balanced"], one["faults"]) == (5, 1, True, [])
    assert one["missed"]["nobody fired it in time"] + sum(one["live"].values()) == 5
    assert one["nextCursor"] is None
    assert everything == one


async def test_a_long_audit_goes_on_with_a_cursor(api: Api, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(routes, "PART", 2)
    job = (await api.job(every=60))["jobId"]
    api.clock.advance(5 * MINUTE)

    for path in (f"/v1/jobs/{job}/audit", "/v1/audit"):
        parts = [(await api.call("GET", path)).json()]
        while parts[-1]["nextCursor"] and len(parts) < 9:
            cursor = parts[-1]["nextCursor"]
            parts.append((await api.call("GET", f"{path}?cursor={cursor}")).json())
            api.clock.advance(MINUTE)

        assert sum(part["due"] for part in parts) == int(parts[0]["until"][14:16])
        assert sum(part["jobs"] for part in parts) == 1
        assert len({part["until"] for part in parts}) == 1


async def test_an_unknown_job_and_a_strange_cursor_are_refused(api: Api):
    check_problem(await api.call("GET", "/v1/jobs/job-99/audit"), 404)
    check_problem(await api.call("GET", "/v1/audit?cursor=abc"), 422, at="cursor")


async def test_the_auditor_counts_what_is_wrong_until_it_is_right_again(api: Api):
    node = await a_node(api.store, api.clock)
    job = (await api.job(every=60))["jobId"]
    auditor = Auditor(api.store, api.clock)
    api.clock.advance(MINUTE)
    lost = await plan(api.store, api.clock)
    [run] = lost.runs
    lost.runs.clear()
    await api.store.clock.fire(lost, lessee=Lessee(node, 0), now=api.clock.now())

    pause_s = await auditor.step()

    assert pause_s in (PART_S, ROUND_S)
    assert auditor.tally.unbalanced == {"unaccounted": 1}
    [fault] = (await api.call("GET", f"/v1/jobs/{job}/audit")).json()["faults"]
    assert (fault["jobId"], fault["kind"], fault["count"]) == (job, "unaccounted", 1)
    assert run.run == occurrence(run.due)
    assert run.job == parse_job_id(job)
    edge = api.clock.now()
    await api.store.upkeep.prune(before=edge, keys_before=edge, limit=10)
    await auditor.step()
    assert auditor.tally.unbalanced == {}


def test_the_command_proves_it_and_adds_the_parts_up(stage, tmp_path):
    onthedot = Command(tmp_path, stage.server.url)
    job = stage.job("/ok", name="audited", every=1)
    stage.called(job)

    said = onthedot.ok("audit", "audited")
    whole = onthedot.ok("audit", "--all", "--json").json

    assert "The books balance" in said.err
    assert said.out.split()[:3] == ["WHAT", "WHY", "OCCURRENCES"]
    assert whole["balanced"] is True
    assert whole["jobs"] >= 1
    check_error(onthedot("audit"), 2, "name one job, or give --all")
