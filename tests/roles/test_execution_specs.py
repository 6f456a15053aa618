"""How jobs are executed is remembered, and kept once for those that are executed alike."""

from __future__ import annotations

from onthedot.roles.execution_specs import ExecutionSpecs
from tests.support.builders import a_held_run, a_job, a_node


async def test_jobs_that_are_executed_alike_share_what_is_remembered_of_them(store, clock):
    node = await a_node(store, clock)
    payloads = ('{"to":"ana"}', '{"to":"ana"}', '{"to":"bo"}')
    jobs = [await a_job(store, clock, payload=payload) for payload in payloads]
    runs = [await a_held_run(store, clock, node, job) for job in jobs]
    execution_specs = ExecutionSpecs(store)

    await execution_specs.load(runs)
    ready, unknown = execution_specs.match(runs)

    ana, same, other = (each.execution for each in ready)
    assert (unknown, ana == same, ana == other) == ([], True, False)
    assert ana is same
