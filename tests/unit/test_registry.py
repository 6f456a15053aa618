"""Who may stay connected, who makes room, and who has kept the server waiting for too long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from onthedot.api.limits import ConnectionCount, Limits, Phase, overdue
from onthedot.api.registry import Registry

FAR = "192.0.2.1"


class Client:
    def __init__(self, address: str = "127.0.0.1", phase: Phase = Phase.HEAD) -> None:
        self.address = address
        self.phase = self.place = phase
        self.since = 0.0
        self.body_bytes = 0
        self.held = 0
        self.ended = ""

    def held_bytes(self) -> int:
        return self.held

    def expire(self) -> None:
        self.ended = "expired"

    def abort(self) -> None:
        self.ended = "aborted"


class Door:
    """A registry with a clock and a loop that the test turns."""

    def __init__(self, **limits: Any) -> None:
        self.now = 100.0
        self.soon: list[Callable[[], None]] = []
        self.registry = Registry(Limits(**limits), lambda: self.now, self.soon.append)

    def comes(self, address: str = "127.0.0.1", phase: Phase = Phase.HEAD) -> Client | None:
        if not self.registry.admit(address):
            return None
        client = Client(address, phase)
        self.registry.arriving -= 1
        self.registry.add(client)
        self.now += 0.01
        return client


def test_the_oldest_that_sends_nothing_makes_room():
    door = Door(connections_max=3)
    idle = door.comes(phase=Phase.IDLE)
    silent, second = door.comes(), door.comes()
    assert idle
    assert silent
    assert second

    door.now += 2
    assert door.comes()

    assert (idle.ended, silent.ended, second.ended) == ("", "aborted", "")
    assert len(door.registry) == 3


def test_newcomers_are_spared_as_long_as_somebody_older_waits():
    door = Door(connections_max=2)
    idle = door.comes(phase=Phase.IDLE)
    door.now += 2
    new = door.comes()
    assert idle
    assert new

    assert door.comes()

    assert (idle.ended, new.ended) == ("aborted", "")


def test_a_request_that_is_being_answered_never_makes_room():
    door = Door(connections_max=2)
    busy = [door.comes(phase=Phase.ANSWERING) for _ in range(2)]

    assert door.comes() is None
    assert [client.ended for client in busy if client] == ["", ""]


def test_one_that_does_not_read_its_answer_makes_room_while_it_is_being_answered():
    door = Door(connections_max=1)
    deaf = door.comes(phase=Phase.ANSWERING)
    assert deaf
    door.registry.stalls(deaf)
    door.now += 2

    assert door.comes()
    assert deaf.ended == "aborted"


def test_one_far_address_gets_half_of_the_places_and_loses_its_own():
    door = Door(connections_max=4)
    near = door.comes(phase=Phase.IDLE)
    far = [door.comes(FAR), door.comes(FAR)]
    door.now += 2

    assert door.comes(FAR)

    assert near
    assert near.ended == ""
    assert [client.ended for client in far if client] == ["aborted", ""]


def test_the_places_of_those_who_left_are_free():
    door = Door(connections_max=2)
    for _ in range(10):
        client = door.comes(FAR)
        assert client
        door.registry.remove(client)
        door.registry.remove(client)

    assert len(door.registry) == 0
    assert not door.registry.refused


def test_the_sweep_ends_those_who_took_too_long_and_no_others():
    door = Door()
    old = [door.comes(phase=phase) for phase in Phase]
    door.now += 70
    new = [door.comes(phase=phase) for phase in Phase]

    door.registry.sweep()

    ended = [client.phase.name for client in old if client and client.ended]
    assert sorted(ended) == ["BODY", "HEAD", "IDLE", "LEAVING"]
    assert not any(client.ended for client in new if client)


def test_an_answer_that_nobody_reads_is_given_up():
    door = Door()
    deaf, reading = door.comes(phase=Phase.IDLE), door.comes(phase=Phase.IDLE)
    assert deaf
    assert reading
    door.registry.stalls(deaf)
    door.registry.stalls(reading)
    door.now += 20
    door.registry.reads(reading)
    door.now += 20

    door.registry.sweep()

    assert (deaf.ended, reading.ended) == ("aborted", "")


def test_those_who_hold_the_most_memory_leave_when_it_is_too_much():
    door = Door(held_bytes_max=100)
    clients = [door.comes(phase=Phase.BODY) for _ in range(3)]
    for client, held in zip(clients, (20, 90, 30), strict=True):
        assert client
        client.held = held

    door.registry.sweep()

    assert [client.ended for client in clients if client] == ["", "aborted", ""]


def test_requests_begin_a_few_to_a_turn_and_in_order():
    door = Door(requests_per_turn=2)
    begun: list[int] = []
    for number in range(5):
        door.registry.begin(lambda one, _: begun.append(one), number, None)

    seen = [list(begun)]
    while door.soon:
        turn, door.soon[:] = list(door.soon), []
        for call in turn:
            call()
        seen.append(list(begun))

    assert seen[:3] == [[0, 1], [0, 1, 2, 3], [0, 1, 2, 3, 4]]
    assert begun == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("size", [1, 7, 100_000])
@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET /" + b"a" * 8_192 + b" HTTP/1.1\r\n", 414),
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 101 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\na: " + b"b" * 32_768 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 100 + b"\r\n", None),
        (b"GET /" + b"a" * 8_000 + b" HTTP/1.1\r\na: " + b"b" * 24_000 + b"\r\n\r\n", None),
    ],
)
def test_a_head_is_counted_alike_in_pieces_of_any_size(head, status, size):
    count = ConnectionCount(Limits())
    pieces = (head[at : at + size] for at in range(0, len(head), size))

    found = next((over.status for over in map(count.add, pieces) if over is not None), None)

    assert found == status


def test_a_body_has_more_time_the_more_of_it_has_come():
    limits = Limits()

    assert overdue(limits, Phase.BODY, waited_s=11, body_bytes=0)
    assert not overdue(limits, Phase.BODY, waited_s=11, body_bytes=80_000)
    assert overdue(limits, Phase.BODY, waited_s=43, body_bytes=256 * 1024)
