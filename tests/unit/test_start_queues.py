"""In which order held runs are started: what is due now beside a backlog."""

from __future__ import annotations

from typing import Any

from onthedot.roles.start_queues import StartQueues

NOW = 100


def lines(on_time=(), others=(), gone=()):
    made: StartQueues[Any] = StartQueues(lambda each: each[1] not in gone)
    made.on_time.add([(at, f"on time {at}") for at in on_time])
    made.others.add([(at, f"other {at}") for at in others])
    return made


def names(taken):
    return [name for _, name in taken]


def test_the_oldest_of_each_line_comes_first_and_nothing_before_its_instant():
    made = lines(on_time=[100, 90, 101], others=[60, 50])

    assert names(made.take(NOW, 10)) == ["on time 90", "on time 100", "other 50", "other 60"]
    assert made.next_at() == 101


def test_while_both_wait_each_has_half_of_the_slots():
    made = lines(on_time=[90, 91, 92], others=[10, 11, 12])

    assert names(made.take(NOW, 4)) == ["on time 90", "on time 91", "other 10", "other 11"]


def test_single_slots_go_to_both_in_turns():
    made = lines(on_time=[90, 91], others=[10, 11])

    taken = [names(made.take(NOW, 1))[0].split()[0] for _ in range(4)]

    assert sorted(taken[:2]) == sorted(taken[2:]) == ["on", "other"]


def test_a_line_that_does_not_use_its_half_leaves_it_to_the_other():
    assert len(lines(on_time=[90], others=range(10)).take(NOW, 6)) == 6
    assert len(lines(on_time=range(80, 90), others=[1]).take(NOW, 6)) == 6


def test_what_has_left_is_passed_over():
    made = lines(on_time=[90, 91], others=[10], gone={"on time 90", "other 10"})

    assert made.next_at() == 91
    assert names(made.take(NOW, 10)) == ["on time 91"]


def test_what_is_added_later_is_sorted_in():
    made = lines(on_time=[95, 99])
    made.on_time.add([(97, "on time 97"), (94, "on time 94")])

    assert [at for at, _ in made.take(NOW, 10)] == [94, 95, 97, 99]
    assert made.due(NOW) == 0
