"""Names of receivers become addresses, and a resolver that is down is told from an unknown name."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable
from typing import Any

from aiohttp.abc import AbstractResolver
from aiohttp.resolver import ThreadedResolver

from onthedot.core.node_faults import ResolverDown, fault_of

RESOLVE_S = 10.0
"""A resolver that has not answered by then is taken for one that is down: calls would wait for it
until their own time is over, and their attempts be used up."""

GOOD_MAX = 4
SURE_S = 1.0

_FAILURES = frozenset({socket.EAI_AGAIN, socket.EAI_FAIL, socket.EAI_MEMORY, socket.EAI_SYSTEM})


class Resolver(AbstractResolver):
    """When a name cannot be resolved, it asks for others that could be resolved before. If they
    cannot be any more, it is the resolver that does not work. Without any to ask for, an unknown
    name is one, and a failure is that of the resolver.
    """

    def __init__(
        self, system: AbstractResolver | None = None, time: Callable[[], float] | None = None
    ) -> None:
        self._system = system or ThreadedResolver()
        self._time = time or asyncio.get_running_loop().time
        self._good: dict[str, None] = {}
        self._checking = asyncio.Lock()
        self._checked_at = float("-inf")
        self._is_down = False

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[Any]:
        try:
            found = await self._ask(host, port, family)
        except OSError as error:
            if fault_of(error) is None and await self._cannot_resolve(host, error):
                raise ResolverDown(error.errno, f"no name can be resolved ({error})") from error
            raise
        if not all(_is_loopback(each["host"]) for each in found):  # that needs no resolver
            self._good.pop(host, None)
            self._good[host] = None
            if len(self._good) > GOOD_MAX:
                del self._good[next(iter(self._good))]
        return found

    async def close(self) -> None:
        await self._system.close()

    async def _ask(self, host: str, port: int, family: socket.AddressFamily) -> list[Any]:
        try:
            async with asyncio.timeout(RESOLVE_S):
                return list(await self._system.resolve(host, port, family))
        except TimeoutError:
            error = f"the resolver has not answered within {RESOLVE_S:g} s"
            raise socket.gaierror(socket.EAI_AGAIN, error) from None

    async def _cannot_resolve(self, host: str, error: OSError) -> bool:
        others = [name for name in self._good if name != host]
        if not others:
            return error.errno in _FAILURES
        async with self._checking:
            if self._time() - self._checked_at >= SURE_S:
                self._is_down = not await self._any_resolves(others)
                self._checked_at = self._time()
        return self._is_down

    async def _any_resolves(self, names: list[str]) -> bool:
        asked = (self._ask(name, 0, socket.AF_UNSPEC) for name in names)
        answers = await asyncio.gather(*asked, return_exceptions=True)
        return any(not isinstance(answer, BaseException) for answer in answers)


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False
