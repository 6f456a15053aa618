"""The demo: a server with telling jobs on a throw-away database, and its run log, live.

The server runs in this process, on the main thread, where it takes its signals: no child can be
left behind. The callbacks' receiver and the run log are threads beside it; the log asks the API
over HTTP like anybody else.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import click

from onthedot import config
from onthedot.cli import output
from onthedot.cli.client import ApiClient, path_of
from onthedot.cli.demo_log import HEADER, RunLog
from onthedot.cli.demo_receiver import Receiver
from onthedot.core.instants import SECOND
from onthedot.errors import CannotStart, OnthedotError

GRACE_US = 5 * SECOND
READY_TRIES = 100
READY_POLL_S = 0.05

# Each job's name is also its key and the path it calls: see demo_receiver.
JOBS: tuple[dict[str, Any], ...] = (
    {"name": "heartbeat", "every": 3},
    {"name": "on-the-minute", "cronExpr": "* * * * *"},
    {"name": "flaky", "every": 20, "retries": 3},
    {"name": "broken", "every": 30},
    {"name": "slow", "every": 10},
    {"name": "one-off", "delay": 60},
)
# These would show themselves only after their first interval.
AT_ONCE = ("flaky", "broken", "slow")


def run_demo(port: int) -> int:
    """Until Ctrl-C or SIGTERM; the exit code."""
    _refuse_taken(port)
    with _signals_to(_interrupt):  # SIGTERM like Ctrl-C until the server takes over both
        try:
            code = _serve(port)
        except KeyboardInterrupt:  # before the server listens to signals
            code = 0
        if code == 0:
            output.data("\nThe demo is over; its database is deleted.")
    return code


def _serve(port: int) -> int:
    from onthedot.server import run_server

    with (
        _a_folder() as folder,
        Receiver() as receiver,
        _RunPrinter(receiver.url) as narrator,
    ):
        settings = config.Settings(
            database=f"sqlite:///{Path(folder).resolve() / 'demo.db'}",
            port=port,
            grace_us=GRACE_US,
            log_level="warning",  # the run log is the show
        )
        try:
            code = run_server(settings, on_ready=lambda ready: narrator.begin(ready.url or ""))
        finally:
            _ignore_signals()
    narrator.raise_failure()
    return code


def _a_folder() -> TemporaryDirectory[str]:
    """A signal waits until it is made: nobody would delete one that is only half known."""
    came: list[int] = []
    with _signals_to(lambda number, _: came.append(number)):
        folder = TemporaryDirectory(prefix="onthedot-demo-", ignore_cleanup_errors=True)
    if came:
        folder.cleanup()
        raise KeyboardInterrupt
    return folder


class _RunPrinter:
    """Makes the jobs and tells what happens, in a thread. Its failure ends the demo."""

    def __init__(self, receiver_url: str) -> None:
        self._receiver_url = receiver_url
        self._stop = threading.Event()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="demo-narrator")
        self._story: Future[None] | None = None

    def begin(self, url: str) -> None:
        self._story = self._pool.submit(self._tell, url)
        self._story.add_done_callback(_end_server_on_failure)

    def raise_failure(self) -> None:
        if self._story is not None:
            self._story.result()

    def __enter__(self) -> _RunPrinter:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._pool.shutdown()

    def _tell(self, url: str) -> None:
        url = url.rstrip("/")
        client = ApiClient(url)
        try:
            self._wait_until_answered(client)
            create_jobs(client, self._receiver_url)
        except OnthedotError:
            # After a Ctrl-C in the first moment the server is on its way out: no failure at all.
            if self._stop.wait(GRACE_US / SECOND + 1):
                return
            raise
        for line in (*introduction(url, program_name(), needs_server=_elsewhere(url)), HEADER):
            output.data(line)
        RunLog(client).follow(self._stop)

    def _wait_until_answered(self, client: ApiClient) -> None:
        """A moment may pass between a server that is ready and one that accepts calls."""
        for _ in range(READY_TRIES):
            try:
                client.get("/jobs", limit=1)
            except OnthedotError:
                self._stop.wait(READY_POLL_S)
            else:
                return


def create_jobs(client: ApiClient, receiver_url: str) -> None:
    """Make the demo's jobs, over REST like anybody else."""
    for job in JOBS:
        name = job["name"]
        made = client.post("/jobs", {**job, "key": name, "handlerUrl": f"{receiver_url}/{name}"})
        if name in AT_ONCE:
            client.post(path_of("jobs", str(made["jobId"]), "trigger"), {})


def introduction(url: str, program: str, *, needs_server: bool) -> list[str]:
    """The page's URL and three commands to try, ready to be copied."""
    server = f" --server {url}" if needs_server else ""
    return [
        f"onthedot demo is running: {click.style(url + '/', bold=True)}",
        "",
        "Try these in another terminal:",
        f"  {program} job list{server}",
        f"  {program} job trigger flaky --wait{server}",
        f"  {program} run list heartbeat --limit 10{server}",
        "",
        "Ctrl-C ends the demo. What happens, as it happens:",
        "",
    ]


def program_name() -> str:
    """How to call this program: by its name if the shell finds it, else by its path."""
    called = Path(sys.argv[0])
    found = shutil.which("onthedot")
    if found is not None or called.name != "onthedot":
        return "onthedot"
    path = called.resolve().parent / called.name
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _elsewhere(url: str) -> bool:
    """Whether commands would call another server than the demo's unless told."""
    try:
        return config.load().server != url
    except OnthedotError:
        return True


def _refuse_taken(port: int) -> None:
    """Say so before anything is made; the server would notice, but could not know of this hint."""
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError as error:
        raise CannotStart(
            f"port {port} on 127.0.0.1 cannot be used: {os.strerror(error.errno or 0)}",
            hint="Choose another, or any free one: onthedot demo --port 0",
            field="port",
        ) from None


def _end_server_on_failure(story: Future[None]) -> None:
    if story.exception() is not None:
        os.kill(os.getpid(), signal.SIGTERM)


@contextmanager
def _signals_to(taker: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    for number in before:
        signal.signal(number, taker)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _ignore_signals() -> None:
    """The end is near: a second Ctrl-C would only spoil it."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
