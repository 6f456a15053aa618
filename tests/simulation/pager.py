"""Whoever is told of failed runs: notes each notice as it comes, and does not take every one."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from onthedot.core.outcomes import Result
from tests.simulation.history import Told

if TYPE_CHECKING:
    from tests.simulation.process import Process
    from tests.simulation.world import World

SECRET = "a secret of the simulation"
SILENT_S = 60.0


class Pager:
    """`http://pager/ok` takes what comes; `http://pager/moody` refuses some and is silent at times,
    until everything is healed.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._chance = world.chance("pager")

    async def receive(
        self, process: Process, url: str, body: bytes, headers: Mapping[str, str]
    ) -> Result:
        said = json.loads(body)
        mood = self._mood(url)
        told = Told(
            run_id=said["runId"],
            key=headers["Idempotency-Key"],
            process=process.name,
            said=said,
            genuine=_is_genuine(headers["Onthedot-Signature"], body),
            at=self._world.loop.now_us,
            accepted=mood == "takes",
        )
        self._world.history.told.append(told)
        self._world.note(process.name, f"tells of {told.run_id}, and the pager {mood} it")
        if mood == "ignores":
            await asyncio.sleep(SILENT_S)
        await asyncio.sleep(self._chance.uniform(0.01, 0.3))
        return Result(error=None if told.accepted else "HTTP 503 Service Unavailable")

    def _mood(self, url: str) -> str:
        draw = self._chance.random()
        faults = self._world.faults
        if url.endswith("/ok") or faults is None or not faults.on:
            return "takes"
        return "ignores" if draw < 0.1 else "refuses" if draw < 0.4 else "takes"


def _is_genuine(signature: str, body: bytes) -> bool:
    """As the guide tells receivers to check it."""
    parts = dict(part.split("=", 1) for part in signature.split(","))
    signed = f"{parts['t']}.".encode() + body
    expected = hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected, parts["v1"])
