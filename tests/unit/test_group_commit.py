"""Groups of those who ask at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import asyncpg
import pytest

from onthedot.errors import StoreUnavailable
from onthedot.store.postgres.group_commit import GROUP_MAX, GroupCommit


class Server:
    """Doubles numbers; refuses a group with a 13 in it, and every group once it is away."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.begun, self.go = asyncio.Event(), asyncio.Event()
        self.is_away = False

    async def serve(self, asked: Sequence[int]) -> list[int]:
        self.groups.append(list(asked))
        self.begun.set()
        await self.go.wait()
        if self.is_away:
            raise StoreUnavailable("the database does not answer")
        if 13 in asked:
            raise asyncpg.UniqueViolationError("13")
        return [2 * number for number in asked]


async def ask_all(server, numbers):
    """The first is under way, alone, when the others come."""
    gathering = GroupCommit(server.serve)
    asking = [asyncio.create_task(gathering.ask(number)) for number in numbers[:1]]
    await server.begun.wait()
    asking += [asyncio.create_task(gathering.ask(number)) for number in numbers[1:]]
    await asyncio.sleep(0)
    return asking


async def test_who_comes_while_a_group_is_under_way_is_in_the_next_one():
    server = Server()
    asking = await ask_all(server, [1, 2, 3])

    server.go.set()

    assert await asyncio.gather(*asking) == [2, 4, 6]
    assert server.groups == [[1], [2, 3]]


async def test_a_group_has_an_end():
    server = Server()
    asking = await ask_all(server, [1] * (GROUP_MAX + 2))

    server.go.set()
    await asyncio.gather(*asking)

    assert [len(group) for group in server.groups] == [1, GROUP_MAX, 1]


async def test_of_a_group_that_is_refused_each_gets_an_answer_of_his_own():
    server = Server()
    asking = await ask_all(server, [1, 2, 13, 3])

    server.go.set()
    found = await asyncio.gather(*asking, return_exceptions=True)

    assert [found[place] for place in (0, 1, 3)] == [2, 4, 6]
    assert isinstance(found[2], asyncpg.UniqueViolationError)
    assert server.groups == [[1], [2, 13, 3], [2], [13], [3]]


async def test_without_a_database_nobody_is_tried_alone():
    server = Server()
    asking = await ask_all(server, [1, 2, 3])
    server.is_away = True

    server.go.set()
    found = await asyncio.gather(*asking, return_exceptions=True)

    assert [type(each) for each in found] == [StoreUnavailable] * 3
    assert server.groups == [[1], [2, 3]]


async def test_who_has_gone_is_in_nobodys_way():
    server = Server()
    first, gone, last = await ask_all(server, [1, 2, 3])

    gone.cancel()
    server.go.set()

    assert [await first, await last] == [2, 6]
    with pytest.raises(asyncio.CancelledError):
        await gone


async def test_after_a_pause_it_serves_again():
    server = Server()
    server.go.set()
    gathering = GroupCommit(server.serve)

    assert [await gathering.ask(number) for number in (1, 2)] == [2, 4]
