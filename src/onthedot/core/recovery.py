"""Who is alive, who owns what, and what is done about the dead, with all figures in one place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from enum import Enum
from typing import NamedTuple

from onthedot.core.instants import SECOND, Instant
from onthedot.core.model import SHARDS, RunRef

LEASE_US = 15 * SECOND
"""A node that has not been heard of for this long may be declared dead."""

BEAT_S = 3.0
START_LIMIT_S = 12.0
"""A node starts nothing when its last confirmed heartbeat was sent longer ago than this: the
three seconds to the end of the lease are its margin for a stall between check and start."""

OFFSET_WARNED_US = SECOND // 2
OFFSET_REFUSED_US = 5 * SECOND

HOLD_MAX = 100_000
"""Claimed, unstarted runs that a node may hold at most, however fast it is: two seconds' work."""


def may_start(*, confirmed_sent: float, now: float) -> bool:
    """Whether a node may still start runs. Both instants are monotonic seconds."""
    return now - confirmed_sent < START_LIMIT_S


def may_judge(*, answering_since: float | None, now: float) -> bool:
    """Whether this node may call others dead: only after the store has answered it for one whole
    lease.

    After an outage of the database every heartbeat is old. Nobody died of that.
    """
    return answering_since is not None and (now - answering_since) * SECOND >= LEASE_US


class Offset(Enum):
    """How far the clock of a machine is off that of the database."""

    FINE = "fine"
    WARNED = "warned"
    REFUSED = "refused"


def judge_offset(offset_us: int) -> Offset:
    """Firing follows the database's clock, yet a machine that is seconds off is not to be trusted:
    whatever set its clock may do worse."""
    if abs(offset_us) >= OFFSET_REFUSED_US:
        return Offset.REFUSED
    return Offset.WARNED if abs(offset_us) >= OFFSET_WARNED_US else Offset.FINE


class Heard(NamedTuple):
    """The last heartbeat of a node, and since when, by our stopwatch, it has been the last."""

    beat_at: Instant
    since: float


def listen(
    heard: Mapping[int, Heard], beats: Mapping[int, Instant], *, now: float
) -> dict[int, Heard]:
    """What is known of the living nodes after reading their heartbeats once more."""
    return {
        node: known
        if (known := heard.get(node)) is not None and known.beat_at == beat_at
        else Heard(beat_at, now)
        for node, beat_at in beats.items()
    }


def silent_before(heard: Mapping[int, Heard], *, me: int, now: float) -> Instant:
    """Whoever's last heartbeat lies before this may be declared dead; 0 if nobody.

    A clock that is set must not make anybody look dead. So silence is a heartbeat that has not
    changed for a whole lease by our stopwatch, and the bound stays below the heartbeats of all
    others, ourselves included.
    """
    silent = {
        node
        for node, (_, since) in heard.items()
        if node != me and (now - since) * SECOND >= LEASE_US
    }
    if not silent:
        return 0
    latest = max(heard[node].beat_at for node in silent)
    return min([latest + 1, *(heard[node].beat_at for node in heard if node not in silent)])


def shards_of(node: int, schedulers: Sequence[int]) -> frozenset[int]:
    """The shards that a node looks after: dealt in turn to the live schedulers, without a leader.

    Two nodes that see different members may both take a shard, or neither for one heartbeat;
    the claim's transaction makes the first harmless, the next heartbeat mends the second.
    """
    members = sorted({*schedulers, node})
    place = members.index(node)
    return frozenset(shard for shard in range(SHARDS) if shard % len(members) == place)


def room_to_hold(*, slots: int, busy: int, finished_last_second: int, unstarted: int) -> int:
    """How many more claimed runs a node may hold before they start: as many as it has free slots,
    and what it gets done in two seconds.
    """
    limit = min(HOLD_MAX, slots - busy + 2 * finished_last_second)
    return max(0, limit - unstarted)


def room_to_lease(*, slots: int, busy: int, due: int, finished_last_second: int) -> int:
    """How many runs a worker takes from the queue now: its free slots, and what it will start in
    the next quarter of a second, less what it holds that is due.

    Not one by one: while it has work in its hands it waits until a good part of that is used up,
    since every lease is a transaction.
    """
    soon = finished_last_second // 4
    wanted = slots - busy + soon - due
    return wanted if wanted >= max(1, soon // 2) else 0


def lost_claims(
    owned: Iterable[RunRef],
    held: Set[tuple[int, int, int]],
    doubted: frozenset[RunRef],
) -> tuple[list[RunRef], frozenset[RunRef]]:
    """Runs that the store says are ours and memory does not know: claims whose answer was lost.

    One that is unknown for the first time may still be on its way to memory; only one that was
    already doubted at the last reconciliation is given back. Memory may know a run under several
    fences: it may have come back before the end of its last attempt was known to be written.
    Returns (to give back, doubted now).
    """
    unknown = [ref for ref in owned if ref not in held]
    return [ref for ref in unknown if ref in doubted], frozenset(unknown) - doubted
