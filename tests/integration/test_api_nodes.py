"""Nodes over the API: who is there, who was, and what they have in hand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from onthedot.core.instants import HOUR, SECOND, format_instant
from onthedot.core.views import Load
from tests.integration.test_api_kit import Api, an_api, check_problem
from tests.support.builders import a_node, facts, kill


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with an_api() as api:
        yield api


async def listed(api: Api, path: str = "/v1/nodes") -> list[dict[str, Any]]:
    response = await api.call("GET", path)
    assert response.status_code == 200, response.text
    nodes: list[dict[str, Any]] = response.json()["nodes"]
    return nodes


@pytest.mark.parametrize("path", ["/v1/nodes", "/nodes"])
async def test_a_living_node_is_shown_with_its_facts_and_its_load(api: Api, path: str):
    said = replace(facts("one", roles=("scheduler", "worker")), queues=("mail", "reports"))
    said = replace(said, functions=("bill", "tidy"), runners=3)
    joined = api.clock.now()
    number = await api.store.nodes.join(said, now=joined)
    beat = api.clock.advance(3 * SECOND)
    await api.store.nodes.beat(number, now=beat, load=Load(running=3, held=12, offset_us=-1_250))

    assert await listed(api, path) == [
        {
            "nodeId": str(number),
            "host": said.host,
            "pid": said.pid,
            "roles": ["scheduler", "worker"],
            "slots": said.slots,
            "queues": ["mail", "reports"],
            "functions": ["bill", "tidy"],
            "runners": 3,
            "version": said.version,
            "joinedAt": format_instant(joined),
            "beatAt": format_instant(beat),
            "alive": True,
            "load": {"running": 3, "held": 12},
            "clockOffsetMs": -1.25,
        }
    ]


async def test_a_dead_node_is_remembered_without_a_load(api: Api):
    node = await a_node(api.store, api.clock)
    await api.store.nodes.beat(node, now=api.clock.now(), load=Load(3, 12, 5))
    await kill(api.store, api.clock, node)

    [shown] = await listed(api)

    assert (shown["nodeId"], shown["alive"]) == (str(node), False)
    assert (shown["load"], shown["clockOffsetMs"]) == (None, None)


async def test_nodes_come_newest_first_and_page_by_page(api: Api):
    numbers = [await a_node(api.store, api.clock) for _ in range(5)]

    pages = [(await api.call("GET", "/v1/nodes?limit=2")).json()]
    for _ in range(2):
        cursor = pages[-1]["nextCursor"]
        pages.append((await api.call("GET", f"/v1/nodes?limit=2&cursor={cursor}")).json())

    seen = [node["nodeId"] for page in pages for node in page["nodes"]]
    assert seen == [str(number) for number in reversed(numbers)]
    assert pages[-1]["nextCursor"] is None


async def test_a_cursor_of_another_list_is_refused(api: Api):
    for number in range(2):
        await api.job(name=f"job {number}")
    cursor = (await api.call("GET", "/v1/jobs?limit=1")).json()["nextCursor"]

    check_problem(await api.call("GET", f"/v1/nodes?cursor={cursor}"), 422, at="cursor")


async def test_nodes_need_the_key_like_everything_else():
    async with an_api(key="secret") as api:
        check_problem(await api.call("GET", "/v1/nodes"), 401)


async def test_the_page_shows_the_living_first_and_forgets_the_long_dead(api: Api):
    long_dead = await a_node(api.store, api.clock)
    await kill(api.store, api.clock, long_dead)
    api.clock.advance(2 * HOUR)
    alive = await a_node(api.store, api.clock)
    dead = await a_node(api.store, api.clock)
    await api.store.nodes.declare_dead(silent_before=0, gone=[dead], now=api.clock.now())

    overview = (await api.call("GET", "/v1/overview")).json()

    assert [(node["nodeId"], node["alive"]) for node in overview["nodes"]] == [
        (str(alive), True),
        (str(dead), False),
    ]
