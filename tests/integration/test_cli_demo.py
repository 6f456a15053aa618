"""`onthedot demo` as a process: it tells, it ticks, it ends cleanly and leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from onthedot.cli.demo_show import run_demo
from tests.integration.test_cli_kit import Command
from tests.support.rest import NoAnswer, Rest, eventually
from tests.support.server import ONTHEDOT, clean_environment, free_port

LINE = re.compile(r"\d\d:\d\d:\d\d +(\S+) +\d\d:\d\d:\d\d\.\d{3} +#(\d+) +(retry|\d+ ms) +(.+)")
NAMES = {"heartbeat", "on-the-minute", "flaky", "broken", "slow", "one-off"}


class Demo:
    def __init__(self, folder: Path, port: int) -> None:
        self.rest = Rest(f"http://127.0.0.1:{port}")
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self._out, self._err = folder / "out", folder / "err"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [str(ONTHEDOT), "demo", "--port", str(port)],
                cwd=folder,
                env={**clean_environment(), "TMPDIR": str(self.temporary)},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    @property
    def out(self) -> str:
        return self._out.read_text()

    @property
    def err(self) -> str:
        return self._err.read_text()

    def lines(self, job: str) -> list[re.Match[str]]:
        """What was told of the attempts of a job."""
        told = (LINE.fullmatch(line) for line in self.out.splitlines())
        return [line for line in told if line is not None and line[1] == job]

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(20)


@contextmanager
def a_demo(folder: Path) -> Iterator[Demo]:
    demo = Demo(folder, free_port())
    try:
        yield demo
    finally:
        if demo.process.poll() is None:
            demo.process.kill()
            demo.process.wait()
        print(demo.out, demo.err)


def test_the_demo_shows_jobs_at_work_and_ends_without_a_trace(tmp_path):
    with a_demo(tmp_path) as demo:
        eventually(lambda: demo.lines("heartbeat"), "a heartbeat", within_s=20)
        eventually(lambda: len(demo.lines("flaky")) == 3, "three attempts", within_s=20)

        assert f"onthedot demo is running: {demo.rest.url}/" in demo.out
        assert {job["name"] for job in demo.rest.pages("/v1/jobs", "jobs")} == NAMES
        assert re.fullmatch(r"\d+ ms", demo.lines("heartbeat")[0][3])
        assert [(line[2], line[3]) for line in demo.lines("flaky")[1:]] == [
            ("2", "retry"),
            ("3", "retry"),
        ]
        assert demo.lines("flaky")[0][4] == "failed: HTTP 503 Service Unavailable"
        assert demo.lines("broken")[0][4] == "failed: HTTP 404 Not Found"
        assert len(list(demo.temporary.iterdir())) == 1

        try_the_commands(demo, tmp_path)

        assert demo.interrupt() == 0
        assert demo.err == ""
        assert demo.out.endswith("The demo is over; its database is deleted.\n")
        assert list(demo.temporary.iterdir()) == []
        with pytest.raises(ProcessLookupError):
            os.killpg(demo.process.pid, 0)
        with pytest.raises(NoAnswer):
            demo.rest.get("/health")


def try_the_commands(demo: Demo, folder: Path) -> None:
    """The three commands that the demo prints work as they are printed."""
    told = [line.strip() for line in demo.out.splitlines() if line.startswith("  ")]
    assert len(told) == 3
    command = Command(folder, "http://127.0.0.1:9")
    for line in told:
        program, *arguments = line.split()
        assert Path(program).name == "onthedot"
        assert command.ok(*arguments).out


def test_a_demo_that_is_interrupted_at_once_ends_with_0(tmp_path):
    with a_demo(tmp_path) as demo:
        eventually(lambda: list(demo.temporary.iterdir()), "its folder", within_s=20)

        assert demo.interrupt() == 0
        assert list(demo.temporary.iterdir()) == []


def test_an_interrupt_while_the_folder_is_made_leaves_none_behind(tmp_path, monkeypatch):
    made = tmp_path / "onthedot-demo"

    def interrupted(*_: object) -> str:
        made.mkdir()
        os.kill(os.getpid(), signal.SIGINT)
        return str(made)

    monkeypatch.setattr(tempfile, "mkdtemp", interrupted)

    assert run_demo(port=0) == 0
    assert not made.exists()


def test_a_demo_on_a_taken_port_says_what_to_do(stage, tmp_path):
    port = stage.server.port

    done = Command(tmp_path, stage.server.url)("demo", "--port", str(port))

    assert done.code == 1
    assert f"port {port}" in done.err
    assert "onthedot demo --port 0" in done.err
    assert stage.server.healthy()
