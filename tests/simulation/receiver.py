"""What the handlers do. Each start leaves an effect, outside every process of ours.

How a handler behaves is in the job's URL, so that an edit can fix it: `http://handler/ok/0.2`.
"""

from __future__ import annotations

import asyncio
import json
import random
from typing import TYPE_CHECKING

from onthedot.core.outcomes import Result
from onthedot.roles.runners import Call, TaskRunner
from onthedot.wire.pipe import StartCall
from tests.simulation.history import Effect
from tests.simulation.runners import DEADLY, STUCK

if TYPE_CHECKING:
    from tests.simulation.process import Process
    from tests.simulation.world import World

HANGS_S = 100_000.0
CALLBACKS = 0.6
DEADLY_SHARE = 0.12


class Receiver:
    """The one place where all calls of a simulation arrive."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.chance = world.chance("handlers")
        self._count = 0
        self._pids = 0

    def next_pid(self) -> int:
        self._pids += 1
        return self._pids

    def arrive(
        self, process: Process, call: Call | StartCall, *, runner: str | None = None
    ) -> Effect:
        self._count += 1
        effect = Effect(
            name=f"e{self._count}",
            run_id=call.run_id,
            job_id=call.job_id,
            attempt=call.attempt,
            scheduled_for=call.scheduled_for,
            process=process.name,
            payload=json.loads(call.payload),
            started=self.world.now(),
            started_at=self.world.loop.now_us,
            on_threshold=process.has_just_woken(),
            runner=runner,
            function=call.function if isinstance(call, StartCall) else None,
        )
        if isinstance(call, Call):
            effect.fence, effect.rescues = call.run.fence, call.run.rescues
        self.world.begin(effect)
        return effect

    def leave(self, effect: Effect, end: str) -> None:
        effect.ended, effect.ended_at = self.world.now(), self.world.loop.now_us
        effect.end = end
        self.world.note(effect.process, f"handler {end} {effect.name}")

    def decide(self, url: str, attempt: int) -> tuple[str, float, float]:
        """How it ends, after how long, and how long it takes to stop it."""
        _, _, _, kind, amount, *_ = url.split("/")
        chance = self.chance
        seconds = float(amount) * chance.uniform(0.5, 1.0)
        match kind:
            case "ok":
                return "ok", seconds, 0.0
            case "failing":
                return "failed", seconds, 0.0
            case "second":
                return ("failed" if attempt == 1 else "ok"), seconds, 0.0
            case "refusing":
                return "refused", seconds, 0.0
            case "flaky":
                return ("ok" if chance.random() < 0.5 else "failed"), seconds, 0.0
            case "hanging":
                return ("ok", seconds, 0.0) if chance.random() < 0.5 else ("ok", HANGS_S, 0.0)
            case "stubborn":
                return "ok", seconds, chance.uniform(0.0, 3.0)
            case "stuck":
                return "ok", HANGS_S, HANGS_S
        raise AssertionError(url)


class SimulatedRunner(TaskRunner):
    """What a node has in the place of its HTTP client."""

    def __init__(self, receiver: Receiver, process: Process) -> None:
        self._receiver = self.receiver = receiver
        self._process = process

    async def run(self, call: Call) -> Result:
        effect = self._receiver.arrive(self._process, call)
        end, seconds, stubborn_s = self._receiver.decide(call.url, call.attempt)
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            if stubborn_s:
                await asyncio.sleep(stubborn_s)
            self._receiver.leave(effect, "stopped")
            raise
        self._receiver.leave(effect, end)
        if end == "ok":
            return Result(output=effect.name)
        return Result(error=f"HTTP 500 {effect.name}", retryable=end != "refused")

    async def close(self) -> None:
        return


def some_handler(
    chance: random.Random, kinds: tuple[str, ...], *, busy: bool, deadly: bool, stuck: bool
) -> dict[str, str]:
    """A callback or a function of one of these kinds; a quick one where slots are scarce."""
    kind = chance.choice(kinds)
    seconds = chance.choice((0.01, 0.1, 0.5, 2.0, 6.0)) if kind != "flaky" and not busy else 0.2
    draw = chance.random()
    if draw < CALLBACKS:
        return {"handlerUrl": f"http://handler/{kind}/{seconds}"}
    if deadly and draw > 1 - DEADLY_SHARE:
        kind = chance.choice(DEADLY)
    elif stuck and not busy and draw > 1 - 2 * DEADLY_SHARE:
        kind = STUCK
    return {"handler": f"{kind}/{seconds}"}
