"""Standard streams that take nothing: the server works, and ends, as ever."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.receiver import Receiver
from tests.support.rest import NoAnswer, Rest, eventually
from tests.support.server import ONTHEDOT, STOP_S, free_port

STREAMS = {
    "a full disk": ">/dev/full 2>/dev/full",
    "closed": "<&- >&- 2>&-",
    "no input": "<&-",
}


@pytest.mark.parametrize("streams", STREAMS.values(), ids=STREAMS)
def test_a_server_needs_no_standard_streams(tmp_path: Path, streams: str):
    port = free_port()
    command = f'exec "$0" serve --port {port} --database sqlite:///{tmp_path}/x.db {streams}'
    process = subprocess.Popen(["sh", "-c", command, ONTHEDOT], cwd=tmp_path)
    try:
        eventually(lambda: _is_well(Rest(f"http://127.0.0.1:{port}")), "a server that is well")
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOP_S) == 0
    finally:
        process.kill()
        process.wait()


def test_a_server_goes_on_when_the_reader_of_its_log_has_gone(tmp_path: Path):
    with _piped(tmp_path) as (process, rest):
        assert process.stderr is not None
        process.stderr.close()
        eventually(lambda: _is_well(rest), "a server that is well")
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOP_S) == 0


def test_a_server_goes_on_when_the_reader_of_its_log_stands_still(tmp_path: Path):
    """A pipe holds 64 KB. Requests that are refused without a key make more of a log than that."""
    with _piped(tmp_path) as (process, rest), Receiver() as receiver:
        eventually(lambda: _is_well(rest), "a server that is well")
        made = {"name": "steady", "every": 1, "handlerUrl": f"{receiver.url}/ok"}
        rest.made("/v1/jobs", made)
        assert process.stderr is not None
        _fill(process.pid)
        rest.ask("GET", "/" + "x" * 20_000)
        count = len(receiver.calls("/ok"))
        receiver.wait_for(count + 3, path="/ok")
        assert _is_well(rest)
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOP_S) == 0


@contextmanager
def _piped(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], Rest]]:
    """A server whose standard error is a pipe that nobody reads."""
    port = free_port()
    address = f"sqlite:///{folder}/x.db"
    command = [str(ONTHEDOT), "serve", "--port", str(port), "--database", address]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE)
    try:
        yield process, Rest(f"http://127.0.0.1:{port}")
    finally:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def _fill(pid: int) -> None:
    """Write into the pipe that a process has as its standard error until no more fits."""
    pipe = os.open(f"/proc/{pid}/fd/2", os.O_WRONLY | os.O_NONBLOCK)
    try:
        with suppress(BlockingIOError):
            while True:
                os.write(pipe, b"." * 512)
    finally:
        os.close(pipe)


def _is_well(rest: Rest) -> bool:
    try:
        return rest.get("/health").status == 200
    except NoAnswer:
        return False
