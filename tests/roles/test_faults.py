"""A node that cannot make a call uses up no attempt, tries again, and gives up in the end."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver

from onthedot.core.instants import MINUTE, SECOND
from onthedot.core.node_faults import HELD_US_MAX, NodeFault, ResolverDown
from onthedot.core.outcomes import Result
from onthedot.core.states import Status
from onthedot.roles.runners.resolving import Resolver
from tests.support.builders import a_job, a_run, view
from tests.support.roles import Stand, a_stand, idle

NO_FILES = Result(error="Too many open files", fault=NodeFault.OPEN_FILES, unsent=True)
MID_CALL = Result(error="no memory", fault=NodeFault.MEMORY)


async def a_stand_with_a_run(store: Any, clock: Any, **fields: Any) -> Stand:
    stand = await a_stand(store, clock)
    await a_run(store, clock, await a_job(store, clock, **fields))
    stand.worker.look()
    return stand


async def pass_time(stand: Stand, clock: Any, us: int, *, until: Callable[[], bool]) -> None:
    for _ in range(us // (SECOND // 10)):
        if until():
            return
        clock.advance(SECOND // 10)
        await stand.member.step()
        await stand.work()
        await stand.finisher.step()


async def test_a_fault_of_the_node_uses_up_no_attempt(store, clock):
    stand = await a_stand_with_a_run(store, clock, retries=0)
    stand.runner.answer(NO_FILES, NO_FILES)

    await stand.work_off()
    assert stand.outcomes == []
    assert stand.attempts.faults.problems()
    await pass_time(stand, clock, 10 * SECOND, until=lambda: bool(stand.outcomes))

    (outcome,) = stand.outcomes
    assert (outcome.status, outcome.attempt) == (Status.SUCCEEDED, 1)
    assert len(stand.runner.calls) == 3
    assert stand.attempts.faults.problems() == []


async def test_a_fault_that_lasts_becomes_a_failed_attempt(store, clock):
    stand = await a_stand_with_a_run(store, clock, retries=0)
    stand.runner.answer(*[NO_FILES] * 1_000)
    began = clock.now()

    await pass_time(stand, clock, 5 * MINUTE, until=lambda: bool(stand.outcomes))

    (outcome,) = stand.outcomes
    assert (outcome.status, outcome.attempt) == (Status.FAILED, 1)
    assert outcome.error == "Too many open files"
    assert HELD_US_MAX <= clock.now() - began < HELD_US_MAX + 10 * SECOND
    assert len(stand.runner.calls) < 60


async def test_an_at_most_once_call_is_made_again_if_nothing_was_sent(store, clock):
    stand = await a_stand_with_a_run(store, clock, guarantee="at_most_once", retries=0)
    stand.runner.answer(NO_FILES)

    await pass_time(stand, clock, 10 * SECOND, until=lambda: bool(stand.outcomes))

    assert [outcome.status for outcome in stand.outcomes] == [Status.SUCCEEDED]
    assert len(stand.runner.calls) == 2


async def test_an_at_most_once_call_that_may_have_been_sent_is_not_made_again(store, clock):
    stand = await a_stand_with_a_run(store, clock, guarantee="at_most_once", retries=0)
    stand.runner.answer(MID_CALL)

    await pass_time(stand, clock, 10 * SECOND, until=lambda: bool(stand.outcomes))

    assert [outcome.status for outcome in stand.outcomes] == [Status.FAILED]
    assert len(stand.runner.calls) == 1


async def test_where_there_are_other_nodes_they_get_to_try(store, clock):
    stand = await a_stand_with_a_run(store, clock, retries=0)
    stand.attempts.leave_to_others = stand.worker.leave_to_others
    other = await a_stand(store, clock)
    stand.runner.answer(*[NO_FILES] * 3)

    await pass_time(stand, clock, 10 * SECOND, until=lambda: len(stand.runner.calls) == 3)
    await stand.worker._leave_some_to_others()
    other.worker.look()
    await other.work_off()

    assert [outcome.status for outcome in other.outcomes] == [Status.SUCCEEDED]


async def test_a_drain_gives_back_what_waits_for_another_try(store, clock):
    stand = await a_stand(store, clock)
    run = await a_run(store, clock, await a_job(store, clock))
    stand.worker.look()
    stand.runner.answer(NO_FILES)
    await stand.work()
    await idle()

    await stand.worker.drain(1.0)

    assert stand.holding.waiting == 0
    assert (await view(store, clock, run)).node is None


async def test_a_run_that_waits_for_another_try_can_be_cancelled(store, clock):
    stand = await a_stand(store, clock)
    run = await a_run(store, clock, await a_job(store, clock))
    stand.worker.look()
    stand.runner.answer(NO_FILES)
    await stand.work()
    await idle()

    await store.runs.cancel(run.job, run.run, now=clock.now())
    await stand.reconciler.listen()

    assert [outcome.status for outcome in stand.outcomes] == [Status.CANCELLED]


# The resolver


class System(AbstractResolver):
    """The machine's resolver, which knows some names while it is up."""

    def __init__(self, **names: str) -> None:
        self.names = {name.replace("_", "."): address for name, address in names.items()}
        self.error = 0

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[Any]:
        if self.error:
            raise socket.gaierror(self.error, "it fails")
        if host not in self.names:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [{"host": self.names[host]}]

    async def close(self) -> None: ...


def a_resolver(system: System, clock: Any) -> Resolver:
    return Resolver(system, clock.monotonic)


async def test_one_unknown_name_is_no_fault_of_the_resolver(clock):
    resolver = a_resolver(System(a_example="192.0.2.1"), clock)
    await resolver.resolve("a.example")

    with pytest.raises(socket.gaierror):
        await resolver.resolve("unknown.example")


@pytest.mark.parametrize("number", [socket.EAI_AGAIN, socket.EAI_NONAME, socket.EAI_FAIL])
async def test_a_resolver_that_no_longer_knows_what_it_knew_is_down(clock, number):
    system = System(a_example="192.0.2.1", b_example="192.0.2.2")
    resolver = a_resolver(system, clock)
    await resolver.resolve("a.example")
    await resolver.resolve("b.example")

    system.error = number
    with pytest.raises(ResolverDown):
        await resolver.resolve("a.example")
    clock.advance(2 * SECOND)
    system.error = 0

    assert await resolver.resolve("a.example")


async def test_one_name_whose_servers_fail_is_no_fault_of_the_resolver(clock):
    class Broken(System):
        async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[Any]:
            if host == "broken.example":
                raise socket.gaierror(socket.EAI_AGAIN, "its servers fail")
            return await super().resolve(host, port, family)

    resolver = a_resolver(Broken(a_example="192.0.2.1"), clock)
    await resolver.resolve("a.example")

    with pytest.raises(socket.gaierror):
        await resolver.resolve("broken.example")


async def test_without_a_name_to_compare_with_a_failure_is_the_resolvers(clock):
    system = System(localhost="127.0.0.1")
    resolver = a_resolver(system, clock)
    await resolver.resolve("localhost")  # which says nothing about the resolver

    with pytest.raises(socket.gaierror):
        await resolver.resolve("unknown.example")
    system.error = socket.EAI_AGAIN
    with pytest.raises(ResolverDown):
        await resolver.resolve("a.example")
