#!/usr/bin/env python3
"""How late do runs start on this machine? Starts a server and a receiver, makes one-off and
interval jobs, and prints the lateness that the ledger shows, beside the floor of a bare timer.

    .venv/bin/python scripts/lateness.py [--one-offs 200] [--intervals 20] [--seconds 15]

Lateness is `startedAt - scheduledFor` of first attempts, read through the API. The floor is what
one process that does nothing but sleep until the same instants achieves at the same time. Run it
on an idle machine.
"""

# It prints, and it looks at the clock: that is what it is for.
# ruff: noqa: T201, TID251

from __future__ import annotations

import argparse
import json
import math
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ONTHEDOT = Path(sys.executable).with_name("onthedot")
FIRST_S = 3.0
START_S = 20.0
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def main() -> int:
    options = arguments()
    with tempfile.TemporaryDirectory(prefix="onthedot-lateness-") as folder:
        receiver = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=receiver.serve_forever, daemon=True).start()
        port = free_port()
        server = start(Path(folder), port)
        try:
            api = Api(f"http://127.0.0.1:{port}")
            api.wait()
            measure(api, f"http://127.0.0.1:{receiver.server_port}/", options)
        finally:
            server.terminate()
            server.wait()
            receiver.shutdown()
    return 0


def measure(api: Api, url: str, options: argparse.Namespace) -> None:
    """One-offs spread over the same seconds in which the intervals tick, then the figures."""
    load = os.getloadavg()[0]
    begin = time.time() + FIRST_S
    spread = options.seconds / options.one_offs
    one_offs = [
        api.create(url, f"one-off {n}", delay=begin + n * spread - time.time())
        for n in range(options.one_offs)
    ]
    intervals = [api.create(url, f"interval {n}", every=1) for n in range(options.intervals)]
    floor = bare_timer(begin, options.seconds)
    for job_id in intervals:
        api.call("PATCH", f"/jobs/{job_id}", {"paused": True})
    figures = {
        "one-off": [ms for job_id in one_offs for ms in api.lateness_ms(job_id)],
        "interval": [ms for job_id in intervals for ms in api.lateness_ms(job_id)],
        "bare timer": floor,
    }
    print(f"load average at the start: {load:.2f} on {os.cpu_count()} cores")
    print(f"{'lateness in ms':<15}{'runs':>7}{'p50':>9}{'p95':>9}{'p99':>9}{'max':>9}")
    for name, found in figures.items():
        parts = "".join(f"{percentile(found, part):>9.2f}" for part in (0.50, 0.95, 0.99, 1.0))
        print(f"{name:<15}{len(found):>7}{parts}")


def bare_timer(begin: float, seconds: float) -> list[float]:
    """Sleep until each of many instants, as a scheduler would, and do nothing else."""
    late: list[float] = []
    for n in range(int(seconds * 10)):
        due = begin + n / 10
        while (left := due - time.time()) > 0:
            time.sleep(left)
        late.append((time.time() - due) * 1000)
    return late


class Api:
    def __init__(self, server: str) -> None:
        self._server = server

    def call(self, method: str, path: str, body: Any = None) -> Any:
        sent = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._server}/v1{path}", sent, method=method)
        with DIRECT.open(request, timeout=10) as answer:
            return json.load(answer)

    def wait(self) -> None:
        deadline = time.monotonic() + START_S
        while True:
            try:
                self.call("GET", "/health")
                return
            except (urllib.error.URLError, OSError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def create(self, url: str, name: str, **schedule: float) -> str:
        made = self.call("POST", "/jobs", {"name": name, "handlerUrl": url, **schedule})
        return str(made["jobId"])

    def lateness_ms(self, job_id: str) -> list[float]:
        runs = self.call("GET", f"/jobs/{job_id}/runs?limit=1000")["runs"]
        return [
            (instant(run["startedAt"]) - instant(run["scheduledFor"])) * 1000
            for run in runs
            if run["startedAt"] is not None and run["attempt"] == 1
        ]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Silent: the figures are the output."""


def start(folder: Path, port: int) -> subprocess.Popen[bytes]:
    ours = {name: text for name, text in os.environ.items() if not name.startswith("ONTHEDOT_")}
    command = [str(ONTHEDOT), "serve", "--port", str(port), "--log-level", "warning"]
    return subprocess.Popen(command, cwd=folder, env=ours, stderr=subprocess.DEVNULL)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def instant(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def percentile(found: list[float], part: float) -> float:
    """The nearest rank: always a lateness that was really seen."""
    ordered = sorted(found)
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)] if ordered else math.nan


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure how late runs start.")
    parser.add_argument("--one-offs", type=int, default=200, help="how many (200)")
    parser.add_argument("--intervals", type=int, default=20, help="how many, every second (20)")
    parser.add_argument("--seconds", type=float, default=15.0, help="for how long (15)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
