"""Connecting: each host has a time of its own, so that one that is silent does not use up that of
the others, and the one that was good last is asked first.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import asyncpg

from onthedot.core.addresses import Address, addresses, files
from onthedot.errors import StoreError

HOST_S = 3.0
"""So long each of several hosts may take. Below the patience of a heartbeat, which begins again."""

_NEXT = (
    OSError,
    TimeoutError,
    # It starts up or shuts down; it is a standby; it has ended the connection.
    asyncpg.CannotConnectNowError,
    asyncpg.TargetServerAttributeNotMatched,
    asyncpg.ConnectionDoesNotExistError,
    asyncpg.TooManyConnectionsError,
)


@cache
def hosts_of(url: str) -> PostgresHosts:
    """The same for every part of a process that connects: what one has found out, all know."""
    return PostgresHosts(url)


class PostgresHosts:
    """Those of a URL, and which of them was good last."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._addresses = addresses(url)
        self._first = 0
        for option, path in files(url).items():
            # The driver's own error would look like that of a socket which is not there yet.
            if not Path(path).exists():
                raise StoreError(
                    f"{option} '{path}' is not there",
                    hint="Correct the option in the address of the database, or make the file.",
                )

    async def connect(self, *_: object, timeout: float, **how: Any) -> asyncpg.Connection:
        """`timeout`: of a URL with one host; of several each has its own."""
        if len(self._addresses) < 2:
            return await asyncpg.connect(self._url, timeout=timeout, **how)
        failed: Exception | None = None
        count = len(self._addresses)
        for place in [(self._first + turn) % count for turn in range(count)]:
            try:
                found = await self._one(self._addresses[place], min(timeout, HOST_S), how)
            except _NEXT as error:
                failed = error
            except BaseException:
                # Whoever waited has given up: the next one does not begin with the same host.
                self._first = (place + 1) % count
                raise
            else:
                self._first = place
                return found
        assert failed is not None
        raise failed

    async def _one(self, address: Address, within_s: float, how: dict[str, Any]) -> Any:
        # A standby would answer, and refuse every write.
        wanted = (
            {} if "target_session_attrs" in self._url else {"target_session_attrs": "read-write"}
        )
        return await asyncpg.connect(
            self._url, host=address.host, port=address.port, timeout=within_s, **wanted, **how
        )
