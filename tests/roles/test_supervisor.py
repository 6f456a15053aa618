"""The supervisor keeps the loops of a node together: they run, end and are reported as one."""

from __future__ import annotations

import asyncio
import gc

import pytest

from onthedot.errors import LoopEnded, NodeDead, StoreUnavailable
from onthedot.roles.loop import Loop
from onthedot.roles.supervisor import STALLED_S, Supervisor
from tests.support.clock import ManualClock
from tests.support.roles import idle


class Role:
    """Takes a step of `takes_s`, `every_s`; says when it dies, and notes what befalls it."""

    def __init__(self, name: str, clock: ManualClock, *, takes_s: float = 0.0) -> None:
        self.steps = 0
        self.cancelled = False
        self.fails: BaseException | None = None
        self.loop = Loop(name, self._step, clock)
        self._takes_s = takes_s

    async def _step(self) -> float:
        if self.fails is not None:
            raise self.fails
        try:
            await asyncio.sleep(self._takes_s)
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        self.steps += 1
        return 1.0


async def started(supervisor: Supervisor, stop: asyncio.Event) -> asyncio.Task[None]:
    task = asyncio.create_task(supervisor.run(stop))
    await idle()
    return task


async def test_when_one_loop_dies_all_end_and_the_death_is_raised(clock):
    roles = [Role("a", clock), Role("b", clock, takes_s=1_000), Role("c", clock)]
    supervisor = Supervisor([role.loop for role in roles], clock)
    task = await started(supervisor, asyncio.Event())

    roles[0].fails = NodeDead("node 3 was declared dead")
    with pytest.raises(NodeDead, match="node 3"):
        await task

    steps = [role.steps for role in roles]
    await asyncio.sleep(10)
    assert [role.steps for role in roles] == steps
    assert roles[1].cancelled


async def test_a_loop_that_is_cancelled_from_within_ends_all_and_is_named(clock):
    # Found by simulation (crash point fire/24/cancel-after): the node took it for an order to
    # stop, began to drain, and the server ended with code 0 and its leases still held.
    roles = [Role("a", clock), Role("b", clock, takes_s=1_000)]
    supervisor = Supervisor([role.loop for role in roles], clock)
    task = await started(supervisor, asyncio.Event())

    roles[0].fails = asyncio.CancelledError()
    with pytest.raises(LoopEnded, match="a was cancelled"):
        await task

    assert roles[1].cancelled


async def test_a_loop_that_is_cancelled_from_within_ends_the_drain_too(clock):
    roles = [Role("a", clock), Role("b", clock)]
    supervisor = Supervisor([role.loop for role in roles], clock)
    stop = asyncio.Event()
    stop.set()
    await supervisor.run(stop)

    roles[1].fails = asyncio.CancelledError()
    with pytest.raises(LoopEnded, match="b was cancelled"):
        await supervisor.during(asyncio.sleep(10))
    await supervisor.cancel()


async def test_loops_that_die_together_leave_no_exception_that_nobody_looked_at(clock):
    unseen: list[str] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: unseen.append(context["message"])
    )

    async def die_together() -> bool:
        roles = [Role("a", clock), Role("b", clock)]
        for role in roles:
            role.fails = NodeDead("dead")
        try:
            await Supervisor([role.loop for role in roles], clock).run(asyncio.Event())
        except NodeDead:
            return True
        return False

    died = await die_together()
    await idle()
    gc.collect()

    assert died
    assert unseen == []


async def test_at_stop_all_loops_are_still_going_for_the_drain(clock):
    roles = [Role("a", clock), Role("b", clock)]
    supervisor = Supervisor([role.loop for role in roles], clock)
    stop = asyncio.Event()
    task = await started(supervisor, stop)

    stop.set()
    await task

    steps = [role.steps for role in roles]
    await asyncio.sleep(5.5)
    assert [role.steps - before for role, before in zip(roles, steps, strict=True)] == [5, 5]
    await supervisor.cancel()


async def test_stop_ends_loops_in_order_each_after_the_step_it_is_in(clock):
    slow, quick, last = Role("slow", clock, takes_s=1.5), Role("quick", clock), Role("last", clock)
    supervisor = Supervisor([last.loop, quick.loop, slow.loop], clock)
    stop = asyncio.Event()
    stop.set()
    await supervisor.run(stop)
    await idle()

    await supervisor.stop(slow.loop, quick.loop)

    assert (slow.steps, slow.cancelled) == (1, False)
    assert quick.steps == 2  # it went on while the slow one ended
    before = last.steps
    await asyncio.sleep(2.9)
    assert (slow.steps, quick.steps, last.steps) == (1, 2, before + 3)
    await supervisor.cancel()


async def test_stopping_a_loop_that_has_died_says_so(clock):
    role, other = Role("a", clock), Role("b", clock)
    supervisor = Supervisor([role.loop, other.loop], clock)
    stop = asyncio.Event()
    stop.set()
    await supervisor.run(stop)
    role.fails = NodeDead("dead")
    role.loop.nudge()
    await idle()

    with pytest.raises(NodeDead):
        await supervisor.stop(role.loop)

    await supervisor.cancel()


async def test_a_supervisor_that_is_cancelled_takes_its_loops_with_it(clock):
    role = Role("a", clock, takes_s=1_000)
    task = await started(Supervisor([role.loop], clock), asyncio.Event())

    task.cancel()
    await asyncio.wait([task])

    assert task.cancelled()
    assert role.cancelled


async def test_nothing_is_wrong_while_every_loop_answers(clock):
    roles = [Role("a", clock), Role("b", clock)]
    supervisor = Supervisor([role.loop for role in roles], clock)
    task = await started(supervisor, asyncio.Event())

    await asyncio.sleep(100)

    assert supervisor.problems() == []
    task.cancel()
    await asyncio.wait([task])


async def test_problems_name_a_loop_that_fails_until_it_has_recovered(clock):
    role, sound = Role("scheduler", clock), Role("worker", clock)
    supervisor = Supervisor([role.loop, sound.loop], clock)
    task = await started(supervisor, asyncio.Event())

    role.fails = StoreUnavailable("the database does not answer")
    await asyncio.sleep(100)
    failing = supervisor.problems()
    role.fails = None
    await asyncio.sleep(3)

    assert failing == ["scheduler: StoreUnavailable: the database does not answer"]
    assert supervisor.problems() == []
    task.cancel()
    await asyncio.wait([task])


async def test_problems_name_a_loop_that_hangs_and_for_how_long(clock):
    stuck, sound = Role("janitor", clock, takes_s=10_000), Role("worker", clock)
    supervisor = Supervisor([stuck.loop, sound.loop], clock)
    task = await started(supervisor, asyncio.Event())

    await asyncio.sleep(STALLED_S - 1)
    early = supervisor.problems()
    await asyncio.sleep(13)

    assert early == []
    assert supervisor.problems() == ["janitor has been stuck for 42 s"]
    task.cancel()
    await asyncio.wait([task])
