"""The checker knows a chain of a fixed delay that stands from one that was held up and paused."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from dataclasses import dataclass

import pytest

from tests.simulation.checker import violations
from tests.simulation.history import History
from tests.simulation.line import Fault
from tests.simulation.process import Process
from tests.simulation.scenarios import Director
from tests.simulation.test_suspects import Cut, played


@dataclass(slots=True)
class Unwritten(Cut):
    """What the processes in `off` have done cannot be written, which was tried `refused` times."""

    refused: int = 0

    def strike(self, process: Process, verb: str, *, writes: bool) -> Fault | None:
        if process.name not in self.off or verb != "Runs.finish":
            return None
        self.refused += 1
        return Fault.FAIL_BEFORE


async def a_fixed_delay(d: Director) -> None:
    await d.job(fixedDelay=2)
    await asyncio.sleep(25)


async def a_pause_while_nothing_can_be_written(d: Director) -> None:
    [process], cut = d.world.processes, d.world.faults
    assert isinstance(cut, Unwritten)
    job = await d.job(fixedDelay=2)
    await asyncio.sleep(5)
    process.trouble("cannot write what it has done", 30)
    cut.off.add(process.name)
    await asyncio.sleep(30)
    await d.patch(job, paused=True)
    cut.off.clear()


@pytest.fixture(scope="module")
def going_on() -> History:
    """A job with a delay of two seconds, until the auditor paused it 45 seconds later."""
    report = played(a_fixed_delay)
    assert report.violations == []
    return report.history


def test_a_chain_that_stands_is_found(going_on: History):
    history = deepcopy(going_on)
    first = min(effect.scheduled_for for effect in history.effects)
    names = {effect.run_id for effect in history.effects if effect.scheduled_for > first}
    history.effects[:] = [effect for effect in history.effects if effect.run_id not in names]
    for asked in history.asks:
        if isinstance(asked.answer, dict) and "runs" in asked.answer:
            runs = asked.answer["runs"]
            asked.answer["runs"] = [run for run in runs if run["runId"] not in names]

    assert [each for each in violations(history) if each.startswith("broken: job-1 has no run")]


def test_a_pause_amid_a_fault_is_not_held_against_the_chain():
    cut = Unwritten()
    report = played(a_pause_while_nothing_can_be_written, cut)

    assert report.violations == []
    assert cut.refused
