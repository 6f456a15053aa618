"""When held runs that were not started go back to the queue."""

from __future__ import annotations

from onthedot.core.instants import SECOND
from onthedot.core.model import LeasedRun
from onthedot.roles.held_runs import GONE_MAX, HAND_BACK_US, HeldRuns
from tests.support.clock import START, ManualClock


def a_run(number: int, at: int) -> LeasedRun:
    return LeasedRun(number, 1 << 10, 1, "default", 0, 5, at, at, 1, 0, 17, None)


def test_what_was_not_started_is_handed_back_when_its_margin_is_over_and_only_then():
    held = HeldRuns(ManualClock(), slots=1)
    held.accept([a_run(1, START + SECOND), a_run(2, START), a_run(3, START)])
    held.drop_waiting((3, 1 << 10))

    assert held.next_hand_back() == START + HAND_BACK_US
    assert [run.job for run in held.take_late(START + HAND_BACK_US)] == [2]
    assert held.next_hand_back() == START + SECOND + HAND_BACK_US


def test_a_run_that_waits_again_has_a_new_margin():
    clock = ManualClock()
    held = HeldRuns(clock, slots=1)
    held.accept([a_run(1, START)])
    held.drop_waiting((1, 1 << 10))
    clock.advance(SECOND)
    held.accept([a_run(1, START)])

    assert held.take_late(START + HAND_BACK_US) == []
    assert held.next_hand_back() == START + SECOND + HAND_BACK_US


def test_a_worker_that_always_has_a_slot_remembers_no_margins_of_runs_that_have_gone():
    held = HeldRuns(ManualClock(), slots=1)
    for number in range(10 * GONE_MAX):
        held.accept([a_run(number, START)])
        held.drop_waiting((number, 1 << 10))

    assert len(held._hand_backs) <= GONE_MAX + 1
