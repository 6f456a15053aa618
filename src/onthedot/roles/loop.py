"""THE loop. Every role is driven by this one: step, sleep as long as the step said, step again.

The waiting, the waking, the backing off after an error and the stopping are here and nowhere else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from onthedot.clock import Clock
from onthedot.errors import NodeDead, StoreError, StoreLost
from onthedot.observe.events import log, warn

BACKOFF_S_MIN = 0.05
BACKOFF_S_MAX = 2.0
SLEEP_S_MAX = 5.0
"""Nobody who follows the clock sleeps longer: one that was set is noticed within this."""


class Loop:
    """Drives one `step`, which returns how many seconds it has nothing to do.

    `on_failure` is called after each step that failed, and so is `on_count`, with its name.
    """

    def __init__(
        self,
        name: str,
        step: Callable[[], Awaitable[float]],
        clock: Clock,
        *,
        sleep_s_max: float = SLEEP_S_MAX,
    ) -> None:
        self.name = name
        self.trouble: str | None = None
        self.on_failure: Callable[[], None] = lambda: None
        self.on_count: Callable[[str], None] = lambda name: None
        self.stepping_since: float | None = None
        self._step = step
        self._sleep_s_max = sleep_s_max
        self._clock = clock
        self._wake = asyncio.Event()
        self._leave = asyncio.Event()
        self._stopping = False
        self._failures = 0

    def nudge(self) -> None:
        """A hint that there is something to do. Losing it costs a moment, never a run."""
        self._wake.set()

    def stop(self) -> None:
        """Let the step under way end, then leave."""
        self._stopping = True
        self._wake.set()
        self._leave.set()

    async def run(self) -> None:
        """Endless by design, until stopped. Only the node's death gets out, and that of its store:
        they end all its loops.
        """
        while not self._stopping:
            # Cleared before the step: a hint that comes during it leads to another step at once.
            self._wake.clear()
            await self._sleep(await self._guarded_step())

    async def _guarded_step(self) -> float:
        self.stepping_since = self._clock.monotonic()
        try:
            pause = await self._step()
        except NodeDead:
            raise
        except StoreLost:  # nothing will ever be written here again
            raise
        except Exception as error:  # noqa: BLE001  (one failed step must not end a role: say it, wait, go on)
            return self._back_off(error)
        finally:
            self.stepping_since = None
        if self._failures:
            log("loop.recovered", loop=self.name, failures=self._failures)
        self._failures = 0
        self.trouble = None
        return pause

    def _back_off(self, error: Exception) -> float:
        self._failures += 1
        self.trouble = f"{self.name}: {type(error).__name__}: {error}"
        warn(
            "loop.failed",
            loop=self.name,
            failures=self._failures,
            error=self.trouble,
            where="" if isinstance(error, StoreError) else _where(error),
        )
        self.on_failure()
        self.on_count(self.name)
        return min(BACKOFF_S_MAX, BACKOFF_S_MIN * 2.0 ** min(self._failures - 1, 10))

    async def _sleep(self, pause: float) -> None:
        if pause <= 0:
            await asyncio.sleep(0)
            return
        # After a failure a hint has to wait: whoever gives one does not know that the store is
        # away, and there are hundreds in a second.
        awaited = self._leave if self._failures else self._wake
        try:
            async with asyncio.timeout(min(pause, self._sleep_s_max)):
                await awaited.wait()
        except TimeoutError:
            return


def _where(error: Exception) -> str:
    """The file and line of an unexpected error: enough to find it, short enough for one event."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
