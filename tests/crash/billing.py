"""examples/billing at work while its server, worker and runner processes are killed at random."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import psycopg

from tests.support.rest import NoAnswer, eventually
from tests.support.server import Server

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "billing" / "app.py"
OPTIONS = ("--app", "app:app", "--runners", "2", "--grace", "1")
EFFORT_S = 0.3
BATCH = 20
OVER = frozenset({"succeeded", "failed", "lost", "cancelled"})


@dataclass
class Books:
    """What came of it: invoices and reminders by customer, and the runs by customer's number."""

    kills: Counter[str] = field(default_factory=Counter)
    invoices: Counter[int] = field(default_factory=Counter)
    reminders: Counter[int] = field(default_factory=Counter)
    billed: dict[int, dict[str, Any]] = field(default_factory=dict)
    reminded: dict[int, dict[str, Any]] = field(default_factory=dict)

    def faults(self) -> Iterator[str]:
        for customer, run in self.billed.items():
            wanted = 1 if run["status"] == "succeeded" else 0
            if self.invoices[customer] != wanted:
                yield f"customer {customer}: {self.invoices[customer]} invoices, {run}"
            if run["status"] != "succeeded" and "quarantined" not in str(run["error"]):
                yield f"customer {customer} was not billed: {run}"
        for customer, run in self.reminded.items():
            if self.reminders[customer] > 1:
                yield f"customer {customer} was reminded {self.reminders[customer]} times: {run}"
            if run["status"] not in ("succeeded", "lost"):
                yield f"the reminder of customer {customer} ended as {run['status']}: {run}"
            if run["status"] == "succeeded" and self.reminders[customer] != 1:
                yield f"customer {customer} was not reminded, and it is said so: {run}"
        strangers = self.invoices.keys() - self.billed.keys()
        yield from (f"customer {each} was billed by nobody" for each in strangers)

    def told(self) -> str:
        lost = [customer for customer, run in self.reminded.items() if run["status"] == "lost"]
        sent = sum(self.reminders[customer] for customer in lost)
        kills = ", ".join(f"{count} of a {who}" for who, count in sorted(self.kills.items()))
        return (
            f"billing: {self.kills.total()} kills ({kills}); {len(self.billed)} runs billed, "
            f"{self.invoices.total()} invoices of {len(self.invoices)} customers; "
            f"{len(self.reminded)} reminders, {len(lost)} lost ({sent} of them sent), "
            f"{sum(count > 1 for count in self.reminders.values())} sent twice"
        )


class Billing:
    """`worker`: a second process that executes, where the database is shared."""

    def __init__(self, folder: Path, url: str | None, chance: Random) -> None:
        self.books = Books()
        self.server = Server(_home(folder / "server"), options=OPTIONS, url=url)
        self.worker: Server | None = None
        if url is not None:
            roles = (*OPTIONS, "--roles", "api,worker")
            self.worker = Server(_home(folder / "worker"), options=roles, url=url)
        self._url = url
        self._chance = chance
        self._outbox = folder / "outbox.txt"
        self._customers = 0

    def play(self, kills: int) -> Books:
        try:
            self.server.start(within_s=60)
            if self.worker is not None:
                self.worker.start(within_s=60)
            self._ask("billing.install", [{}], "install")
            self._settled("billing.install")
            for _ in range(kills):
                self._order()
                time.sleep(self._chance.uniform(0.0, 0.4))  # the moment of a kill is chance
                self._kill()
            self._order()
            self._close_the_books()
        finally:
            for each in (self.server, self.worker):
                if each is not None:
                    each.close()
        return self.books

    # Asking

    def _order(self) -> None:
        self._customers += BATCH
        for name in ("billing.bill", "billing.remind"):
            batch = [
                self._payload(name, customer)
                for customer in range(self._customers - BATCH, self._customers)
            ]
            self._ask(name, batch, f"{name}/{self._customers}")

    def _payload(self, name: str, customer: int) -> dict[str, Any]:
        more = {"month": "2027-01"} if name == "billing.bill" else {"outbox": str(self._outbox)}
        return {"customer": customer, "effort_s": EFFORT_S, **more}

    def _ask(self, name: str, payloads: list[dict[str, Any]], key: str) -> None:
        """Until it is answered; the key makes a repeat harmless."""

        def answered() -> bool:
            with contextlib.suppress(NoAnswer):
                [job] = self.server.rest.get("/v1/jobs", key=name).json["jobs"]
                path = f"/v1/jobs/{job['jobId']}/trigger-many"
                runs = {"runs": [{"payload": payload} for payload in payloads]}
                return self.server.rest.post(path, runs, {"Idempotency-Key": key}).status == 202
            return False

        eventually(answered, f"an answer to {key}", within_s=60)

    # Killing

    def _kill(self) -> None:
        whom = ["runner", "runner", "server"] + ["worker"] * (self.worker is not None)
        who = self._chance.choice(whom)
        if who == "runner":
            runners = [pid for each in self._processes() for pid in runners_of(each.process.pid)]
            if not runners:
                return
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._chance.choice(runners), signal.SIGKILL)
        else:
            victim = self.server if who == "server" or self.worker is None else self.worker
            victim.restart(within_s=60)
        self.books.kills[who] += 1

    def _processes(self) -> list[Server]:
        return [each for each in (self.server, self.worker) if each is not None]

    # Reading

    def _settled(self, name: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []

        def over() -> bool:
            [job] = self.server.rest.get("/v1/jobs", key=name).json["jobs"]
            found[:] = self.server.rest.pages(f"/v1/jobs/{job['jobId']}/runs", "runs")
            return all(run["status"] in OVER for run in found)

        eventually(over, f"the end of every run of {name}", within_s=120)
        return found

    def _close_the_books(self) -> None:
        """Runs are listed newest first, and were asked for in the order of the customers."""
        for name, shelf in (("billing.bill", "billed"), ("billing.remind", "reminded")):
            runs = reversed(self._settled(name))
            setattr(self.books, shelf, dict(enumerate(runs)))
        for each in self._processes():
            each.terminate()
        self.books.invoices.update(self._written())
        self.books.reminders.update(map(int, self._outbox.read_text().split()))

    def _written(self) -> list[int]:
        read = "select customer from invoice"
        if self._url is not None:
            with psycopg.connect(self._url) as database:
                return [customer for (customer,) in database.execute(read)]
        with contextlib.closing(sqlite3.connect(self.server.database)) as file:
            return [customer for (customer,) in file.execute(read)]


def _home(folder: Path) -> Path:
    folder.mkdir()
    shutil.copy(EXAMPLE, folder)
    return folder


def runners_of(parent: int) -> list[int]:
    """The runner processes of a server."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                state = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(state[1]) == parent:
                    found.append(int(entry.name))
    return found
