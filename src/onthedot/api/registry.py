"""Who is connected, and what each connection is waited for.

There is one clock for all: a sweep that the server makes every second looks at the oldest of each
phase. When there is no room for a new client, the one that has kept us waiting longest leaves.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol, TypeVar

from onthedot.api.hosts import is_loopback
from onthedot.api.limits import EVICTION_ORDER, Limits, Phase, overdue
from onthedot.observe.events import warn

TELL_S = 10.0
"""What was refused is logged at most so often, with how many there were."""


T = TypeVar("T")
U = TypeVar("U")
CallSoon = Callable[[Callable[[], None]], object]


class Member(Protocol):
    """A connection, as the registry sees it. `since`: when its phase began; `place`: among which it
    is kept, its phase or, while it is being answered, the one before.
    """

    phase: Phase
    place: Phase
    since: float
    address: str

    @property
    def body_bytes(self) -> int: ...

    def held_bytes(self) -> int: ...

    def expire(self) -> None:
        """It has been waited for long enough."""
        ...

    def abort(self) -> None: ...


class Registry:
    def __init__(
        self,
        limits: Limits,
        time: Callable[[], float],
        call_soon: CallSoon,
        refused: Counter[str] | None = None,
    ) -> None:
        self.limits = limits
        self.refused: Counter[str] = Counter() if refused is None else refused
        """By reason, since the start."""
        self.arriving = 0
        self._time = time
        self._call_soon = call_soon
        self._begun = 0
        self._to_begin: deque[Callable[[], None]] = deque()
        # In each phase the one that has been in it longest comes first.
        self._phases: dict[Phase, dict[Member, None]] = {phase: {} for phase in Phase}
        self._stalled: dict[Member, float] = {}
        self._addresses: Counter[str] = Counter()
        self._told: Counter[str] = Counter(self.refused)
        self._told_at = time() - TELL_S

    def __len__(self) -> int:
        return self.arriving + sum(map(len, self._phases.values()))

    # Coming and going

    def admit(self, address: str) -> bool:
        """Whether there is room for a new connection, if need be by ending another one. Then
        `arriving` counts it until it is added.
        """
        share = self.limits.per_address_max
        if not is_loopback(address) and self._addresses[address] >= share:
            if not self._evict("connections_per_address", address):
                return False
        elif len(self) >= self.limits.connections_max and not self._evict("connections"):
            return False
        self.arriving += 1
        return True

    def add(self, member: Member) -> None:
        self._addresses[member.address] += 1
        member.since = self._time()
        member.place = member.phase
        self._phases[member.place][member] = None

    def remove(self, member: Member) -> None:
        """More than once does no harm."""
        self._stalled.pop(member, None)
        if self._phases[member.place].pop(member, member) is None:
            self._addresses[member.address] -= 1
            if self._addresses[member.address] <= 0:
                del self._addresses[member.address]

    def move(self, member: Member, phase: Phase) -> None:
        member.phase = phase
        # Every request comes by here: while it is answered its connection stays where it was, and
        # whoever looks there passes it over.
        if phase is not Phase.ANSWERING and self._phases[member.place].pop(member, member) is None:
            member.since = self._time()
            member.place = phase
            self._phases[phase][member] = None

    def stalls(self, member: Member) -> None:
        """It does not read what we send."""
        self._stalled.setdefault(member, self._time())

    def reads(self, member: Member) -> None:
        self._stalled.pop(member, None)

    def _evict(self, reason: str, address: str | None = None) -> bool:
        self.refused[reason] += 1
        victim = next(self._slow(address), None) or self._oldest(address)
        if victim is None:
            return False
        self._end(victim)
        return True

    def _slow(self, address: str | None) -> Iterator[Member]:
        """Who has had the time to send a request, or to read an answer."""
        before = self._time() - self.limits.settled_s
        for member, since in self._stalled.items():
            if since < before and address in (None, member.address):
                yield member
        for phase in EVICTION_ORDER:
            for member in self._waiting(phase):
                if member.since >= before:
                    break
                if address in (None, member.address):
                    yield member

    def _waiting(self, phase: Phase) -> Iterator[Member]:
        """Those in this phase, the longest first."""
        return (member for member in self._phases[phase] if member.phase is phase)

    def _oldest(self, address: str | None) -> Member | None:
        firsts = (
            next((each for each in self._waiting(phase) if address in (None, each.address)), None)
            for phase in EVICTION_ORDER
        )
        found = [member for member in firsts if member is not None]
        return min(found, key=lambda member: member.since, default=None)

    def _end(self, member: Member) -> None:
        self.remove(member)
        member.abort()

    # Requests

    def begin(self, start: Callable[[T, U], None], cycle: T, app: U) -> None:
        """Begin to answer a request, now or, if many have come in this turn of the loop, in one of
        the next: a crowd of requests delays no start of a run.
        """
        if self._begun >= self.limits.requests_per_turn:
            self._to_begin.append(partial(start, cycle, app))
            return
        if not self._begun:
            self._call_soon(self._next_turn)
        self._begun += 1
        start(cycle, app)

    def _next_turn(self) -> None:
        self._begun = min(len(self._to_begin), self.limits.requests_per_turn)
        if self._begun:
            self._call_soon(self._next_turn)
        for _ in range(self._begun):
            self._to_begin.popleft()()

    # The sweep

    def sweep(self) -> None:
        """End what has taken too long, or too much memory, and tell of what was refused."""
        now = self._time()
        for phase in (Phase.HEAD, Phase.IDLE, Phase.LEAVING):
            for member in list(self._waiting(phase)):
                if not overdue(self.limits, phase, waited_s=now - member.since):
                    break
                self._expire(member)
        for member in list(self._waiting(Phase.BODY)):
            waited_s, came = now - member.since, member.body_bytes
            if overdue(self.limits, Phase.BODY, waited_s=waited_s, body_bytes=came):
                self._expire(member)
        for member, since in list(self._stalled.items()):
            if now - since > self.limits.write_s:
                self.refused["unread"] += 1
                self._end(member)
        self._free_memory()
        self._tell(now)

    def _expire(self, member: Member) -> None:
        if member.phase in (Phase.HEAD, Phase.BODY):
            self.refused["too_slow"] += 1
        member.expire()

    def _free_memory(self) -> None:
        """Unread answers and unfinished bodies, all together; the greediest leaves first."""
        members = [member for each in self._phases.values() for member in each]
        held = [(member.held_bytes(), member) for member in members]
        total = sum(size for size, _ in held)
        if total <= self.limits.held_bytes_max:
            return
        for size, member in sorted(held, key=lambda each: -each[0]):
            self.refused["memory"] += 1
            self._end(member)
            total -= size
            if total <= self.limits.held_bytes_max:
                return

    def _tell(self, now: float) -> None:
        if now - self._told_at < TELL_S or self.refused == self._told:
            return
        news = {name: count - self._told[name] for name, count in self.refused.items()}
        self._told, self._told_at = Counter(self.refused), now
        warn("api.refused", open=len(self), **{k: v for k, v in news.items() if v})
