"""Many clients at once that keep a server waiting, each in its own way, for a while.

    python -m tests.hostile.crowd PORT CLIENTS SECONDS

A process of its own, so that it has its own files, and gives way to the server it attacks: a real
crowd does not share its processors. Whoever is dropped comes again. At the end it prints what it
did as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import socket
import sys
import time
from collections import Counter

from tests.hostile.raw import request

AT_ONCE = 50
"""Connections that are being made at a time: the crowd pushes, but it does not only push."""

PAUSE_S = 0.05
HALF_HEAD = b"GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
HALF_BODY = request("POST", "/v1/jobs", "Content-Length: 1000") + b'{"name": '
IDLE = request("GET", "/health/live")
UNREAD = request("GET", "/v1/jobs?limit=1000") * 200
KINDS = {"silent": b"", "half_head": HALF_HEAD, "half_body": HALF_BODY, "idle": IDLE}


class Crowd:
    def __init__(self, port: int) -> None:
        self._port = port
        self._door = asyncio.Semaphore(AT_ONCE)
        self.did: Counter[str] = Counter()
        self.open = 0
        self.most = 0

    async def client(self, kind: str, until: float) -> None:
        loop = asyncio.get_running_loop()
        while loop.time() < until:
            mine = socket.socket()
            mine.setblocking(False)
            mine.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            try:
                async with self._door:
                    await loop.sock_connect(mine, ("127.0.0.1", self._port))
                self.did[kind] += 1
                self.open += 1
                self.most = max(self.most, self.open)
                try:
                    await self._behave(kind, mine, until)
                finally:
                    self.open -= 1
            except OSError:
                self.did["refused"] += 1
            finally:
                mine.close()
            await asyncio.sleep(PAUSE_S)

    async def _behave(self, kind: str, mine: socket.socket, until: float) -> None:
        """Until the server drops it, or the attack is over."""
        loop = asyncio.get_running_loop()
        left_s = until - loop.time()
        try:
            async with asyncio.timeout(max(0.0, left_s)):
                if kind == "unread":
                    await loop.sock_sendall(mine, UNREAD)
                    await asyncio.sleep(left_s)
                await loop.sock_sendall(mine, KINDS[kind])
                while await loop.sock_recv(mine, 4_096):
                    pass
                self.did["dropped"] += 1
        except TimeoutError:
            return


async def attack(port: int, clients: int, seconds: float) -> Crowd:
    crowd = Crowd(port)
    until = asyncio.get_running_loop().time() + seconds
    kinds = [*KINDS, "unread"]
    async with asyncio.TaskGroup() as group:
        for number in range(clients):
            group.create_task(crowd.client(kinds[number % len(kinds)], until))
    return crowd


def main() -> None:
    port, clients, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, clients + 500), hard))
    os.nice(10)
    began = time.monotonic()
    crowd = asyncio.run(attack(port, clients, seconds))
    took_s = time.monotonic() - began
    print(json.dumps({"most": crowd.most, "took_s": took_s, **crowd.did}))


if __name__ == "__main__":
    main()
