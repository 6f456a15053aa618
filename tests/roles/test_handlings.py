"""How jobs are executed is remembered, and kept once for those that are executed alike."""

from __future__ import annotations

from onthedot.roles.handlings import Handlings
from tests.support.builders import a_held_run, a_job, a_node


async def test_jobs_that_are_executed_alike_share_what_is_remembered_of_them(store, clock):
    node = await a_node(store, clock)
    payloads = ('{"to":"ana"}', '{"to":"ana"}', '{"to":"bo"}')
    jobs = [await a_job(store, clock, payload=payload) for payload in payloads]
    runs = [await a_held_run(store, clock, node, job) for job in jobs]
    handlings = Handlings(store)

    await handlings.load(runs)
    ready, unknown = handlings.match(runs)

    ana, same, other = (each.handling for each in ready)
    assert (unknown, ana == same, ana == other) == ([], True, False)
    assert ana is same
