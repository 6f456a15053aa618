"""Who is measured, and with which settings: the best that were found for each.

What is left to do is counted in the store of each peer, by a statement or by the length of keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Part = Literal["drained", "lateness", "recurring"]
PARTS: tuple[Part, ...] = ("drained", "lateness", "recurring")


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """`share` of the runs that the quick ones get: a slow one would take minutes. `cannot`: what
    it does not do, and why. `options` go to its driver, for the parts that have some.
    """

    name: str
    driver: str
    about: str
    left: str = ""
    left_in_redis: tuple[tuple[str, str], ...] = ()
    processes: int = 1
    share: float = 1.0
    in_code: bool = False
    options: Mapping[Part, Mapping[str, str]] = field(default_factory=dict)
    cannot: Mapping[Part, str] = field(default_factory=dict)

    @property
    def on_redis(self) -> bool:
        return bool(self.left_in_redis)

    @property
    def on_node_js(self) -> bool:
        return self.driver.endswith(".mjs")


OURS = "onthedot"
ENGINE = {"engine-function": "function", "engine-none": "none"}
"""Ours once more, by `onthedot bench enqueue` with this handler: drained only."""

_SECOND_PROCESS = "measured with one process"
_GRAPHILE_LEFT = "graphile_worker._private_jobs"
_GRAPHILE: Mapping[Part, Mapping[str, str]] = {
    "drained": {"LOCAL_QUEUE": "500"},
    "lateness": {"POLL": "0.1"},
}

PEERS = (
    Peer(
        name=OURS,
        driver="onthedot_driver.py",
        about="onthedot serve --app: all roles in one process, a runner process for the functions",
        left="run",
    ),
    Peer(
        name="pgqueuer",
        driver="pgqueuer_driver.py",
        about="1 process, batch_size 100, uvloop",
        left="pgqueuer",
        in_code=True,
    ),
    Peer(
        name="procrastinate",
        driver="procrastinate_driver.py",
        about="1 process, concurrency 20, 6 connections; lateness: polling every 0.1 s",
        left="procrastinate_jobs where status in ('todo', 'doing')",
        share=0.1,
        in_code=True,
        options={"lateness": {"POLL": "0.1"}},
    ),
    Peer(
        name="graphile-worker",
        driver="graphile.mjs",
        about="1 process, localQueue 500, completeJobBatchDelay 0, concurrency 24; "
        "lateness: no localQueue, polling every 0.1 s",
        left=_GRAPHILE_LEFT,
        options=_GRAPHILE,
        cannot={"recurring": "its crontab has minutes, no seconds"},
    ),
    Peer(
        name="graphile-worker-x2",
        driver="graphile.mjs",
        about="the same in 2 processes",
        left=_GRAPHILE_LEFT,
        processes=2,
        options=_GRAPHILE,
        cannot={"lateness": _SECOND_PROCESS, "recurring": _SECOND_PROCESS},
    ),
    Peer(
        name="pg-boss",
        driver="pgboss.mjs",
        about="1 process, 4 workers with batches of 500 (a batch ends as one), burstWhenBatchFull",
        left="pgboss.job where name = 'nothing' and state < 'completed'",
        cannot={"recurring": "its cron has minutes, no seconds"},
    ),
    Peer(
        name="bullmq",
        driver="bullmq.mjs",
        about="Redis (append-only file, fsync every second), 1 process, concurrency 100",
        left_in_redis=(("LLEN", "bull:q:wait"), ("LLEN", "bull:q:active")),
    ),
    Peer(
        name="celery",
        driver="celery_driver.py",
        about="Redis (the same), prefork with 2 processes, acks_late, no results, prefetch 64",
        left_in_redis=(("LLEN", "celery"), ("HLEN", "unacked")),
        share=0.1,
        in_code=True,
    ),
)
