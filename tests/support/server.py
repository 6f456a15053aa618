"""A real server process for tests: started, killed, frozen, stopped, and always reaped."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from tests.support.rest import NoAnswer, Rest, eventually

ONTHEDOT = Path(sys.executable).with_name("onthedot")
START_S = 20.0
STOP_S = 45.0
SHOWN_LINES = 80
# Below the ports that the kernel gives to outgoing connections: one of those could take a port
# between a kill and the restart.
PORTS = range(20_000, 32_000)


class Server:
    """One server on one database and one port, through any number of processes.

        with Server(tmp_path) as server:
            server.rest.get("/v1/jobs")

    `options` are added to `onthedot serve`, e.g. `("--grace", "1")`; `url` is a database that it
    shares with others, instead of a file of its own; `environment` is added to ours; `open_files`
    is how many it may have.
    """

    def __init__(
        self,
        folder: Path,
        *,
        options: Sequence[str] = (),
        url: str | None = None,
        environment: Mapping[str, str] | None = None,
        open_files: int | None = None,
    ) -> None:
        self.database = folder / "onthedot.db"
        self.log = folder / "server.log"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.rest = Rest(self.url)
        self.options = tuple(options)
        self.started_ns = 0
        self._environment = dict(environment or {})
        self._folder = folder
        self._open_files = open_files
        self._database_url = url or f"sqlite:///{self.database}"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "the server was not started"
        return self._process

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, *, within_s: float = START_S) -> Server:
        """Start the process and wait until it is healthy."""
        self.launch()
        eventually(self.healthy, f"a healthy server at {self.url}", within_s=within_s)
        return self

    def launch(self) -> None:
        """Start the process without waiting for it; `started_ns` is when."""
        assert not self.running, "the server is running already"
        command = [str(ONTHEDOT), "serve", "--host", "127.0.0.1", "--port", str(self.port)]
        command += ["--database", self._database_url, *self.options]
        if self._open_files is not None:
            command = ["sh", "-c", f'ulimit -n {self._open_files} && exec "$0" "$@"', *command]
        with self.log.open("ab") as log:
            self.started_ns = time.time_ns()
            self._process = subprocess.Popen(
                command,
                cwd=self._folder,
                env=clean_environment() | self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def healthy(self) -> bool:
        """Whether /health says 200 now. A process that has ended fails the test at once."""
        if not self.running:
            raise AssertionError(
                f"the server ended with {self.process.returncode}:\n{self.log_tail()}"
            )
        try:
            return self.rest.get("/health").status == 200
        except NoAnswer:
            return False

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def kill9(self) -> None:
        self.process.kill()
        self.process.wait(START_S)

    def terminate(self, *, within_s: float = STOP_S) -> int:
        """SIGTERM, and the exit code of the drained server."""
        self.signal(signal.SIGTERM)
        return self.ended(within_s=within_s)

    def ended(self, *, within_s: float = STOP_S) -> int:
        try:
            return self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(
                f"the server did not end within {within_s:g} s:\n{self.log_tail()}"
            ) from None

    def restart(self, *, within_s: float = START_S) -> None:
        """Kill -9 and start again, on the same port and file."""
        self.kill9()
        self.start(within_s=within_s)

    def log_text(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def log_tail(self) -> str:
        return "\n".join(self.log_text().splitlines()[-SHOWN_LINES:])

    def close(self) -> None:
        """Leave no process behind. pytest shows the log printed here if the test fails."""
        if self.running:
            self.kill9()
        print(f"--- {self.log} (the end of it)\n{self.log_tail()}")


def loading_s() -> float:
    """How long Python alone takes to load a server now: what a start takes beyond it is ours."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import onthedot.node"], check=True)
    return time.monotonic() - began


def clean_environment() -> dict[str, str]:
    """Ours, without the settings that somebody's shell may hold."""
    return {name: value for name, value in os.environ.items() if not name.startswith("ONTHEDOT_")}


def free_port() -> int:
    """A port that nobody listens on, and that no outgoing connection will be given."""
    for port in random.sample(PORTS, 100):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no free port found")
