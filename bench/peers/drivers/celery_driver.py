"""celery on Redis: a worker that forks, and `beat`, which has its schedules from the code."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from celery import Celery
from driver import PAYLOAD, RECURRING, REDIS, instants, main, note, portions

app = Celery("celery_driver", broker=REDIS)
app.conf.update(
    task_acks_late=True,
    task_ignore_result=True,
    worker_prefetch_multiplier=64,
    worker_send_task_events=False,
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
    beat_schedule_filename=str(Path(os.environ.get("PEER_NOTES", ".")).parent / "beat"),
    beat_schedule={
        f"tick-{number}": {"task": "tick", "schedule": 10.0} for number in range(RECURRING)
    },
)


@app.task(name="nothing")
def nothing(template: str, to: str, items: list[int], locale: str) -> None:
    note()


@app.task(name="due")
def due(at: float, template: str, to: str, items: list[int], locale: str) -> None:
    note(at)


@app.task(name="tick")
def tick() -> None:
    note(0.0)


async def prepare() -> None:
    """A queue is there when something is in it."""


async def enqueue(count: float) -> None:
    with app.producer_pool.acquire(block=True) as producer:
        for many in portions(count):
            for _ in range(many):
                nothing.apply_async(kwargs=PAYLOAD, producer=producer)


async def delay(count: float, first: float, seconds: float) -> None:
    for at in instants(count, first, seconds):
        due.apply_async(kwargs={"at": at, **PAYLOAD}, eta=datetime.fromtimestamp(at, UTC))


async def recur(count: float, seconds: float) -> None:
    """They stand in code."""


async def work() -> None:
    program = [str(Path(sys.executable).with_name("celery")), "-A", "celery_driver"]
    quiet = ["--loglevel", "ERROR"]
    if RECURRING:
        subprocess.Popen([*program, "beat", *quiet])  # noqa: ASYNC220 - nothing else runs here
    worker = ["worker", "--concurrency", "2", "--without-gossip", "--without-mingle"]
    os.execv(program[0], [*program, *worker, *quiet])


if __name__ == "__main__":
    main({"prepare": prepare, "enqueue": enqueue, "delay": delay, "recur": recur, "work": work})
