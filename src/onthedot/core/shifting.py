"""Not everybody at once: how long after its due instant a run may start.

The offset is a hash, not chance: asked again it is the same, on every node and after a restart.
The occurrence stays what it is, by its due instant; only its run waits.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

from onthedot.core.instants import Instant


class Shift(NamedTuple):
    """`spread_us`: each job gets an offset of its own below it, the same for all its occurrences.
    `jitter_us`: so does each occurrence.
    """

    spread_us: int = 0
    jitter_us: int = 0

    def of(self, job: int, due: Instant) -> int:
        offset = 0
        if self.spread_us:
            offset += _hash(f"spread {job}") % self.spread_us
        if self.jitter_us:
            offset += _hash(f"jitter {job} {due}") % self.jitter_us
        return offset


NO_SHIFT = Shift()


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())
