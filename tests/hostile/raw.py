"""Clients that speak to the server byte by byte, as no library would."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


class Raw:
    """One connection to 127.0.0.1."""

    def __init__(self, port: int, *, timeout_s: float = PATIENCE_S) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout_s)
        self._read = b""

    def send(self, data: bytes) -> Raw:
        self.socket.sendall(data)
        return self

    def flood(self, piece: bytes, total_bytes: int) -> int:
        """Send until so much is sent or the server has enough; how much it took."""
        sent = 0
        try:
            while sent < total_bytes:
                sent += self.socket.send(piece)
        except (ConnectionError, TimeoutError):
            pass
        return sent

    def answer(self) -> Answer:
        while b"\r\n\r\n" not in self._read:
            self._more()
        head, _, self._read = self._read.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        length = int(headers.get("content-length", 0))
        while len(self._read) < length:
            self._more()
        body, self._read = self._read[:length], self._read[length:]
        return Answer(int(first.split()[1]), headers, body)

    def ends(self) -> bool:
        """Whether the server closes it, which is waited for."""
        try:
            while self.socket.recv(65_536):
                pass
        except ConnectionError:
            return True
        return True

    def _more(self) -> None:
        data = self.socket.recv(65_536)
        assert data, f"the server closed the connection after {self._read!r}"
        self._read += data

    def close(self) -> None:
        self.socket.close()


@contextmanager
def raw(port: int, data: bytes = b"") -> Iterator[Raw]:
    client = Raw(port)
    try:
        yield client.send(data)
    finally:
        client.close()


def request(method: str, path: str, *headers: str, host: str = "localhost", body: bytes = b""):
    """The bytes of one request."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *headers]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body
