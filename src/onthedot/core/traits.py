"""The policies of a job that whoever makes, leases or ends one of its runs must know, as bits.

They stand beside the lane in rules, runs, waiting runs and chains, so that no verb has to read the
job. PostgreSQL has the same bits in `functions/traits.sql`; a further policy is a further bit.
"""

from __future__ import annotations

from typing import Final

FIXED_DELAY: Final = 1
"""A run may be the link of a chain: whoever ends it looks for that."""

AT_MOST_ONCE: Final = 2
"""A lease counts as the start: nobody may lease such a run ahead of its instant, and nobody but its
own node may say that it was not started.
"""


def is_chained(traits: int) -> bool:
    return traits & FIXED_DELAY != 0


def is_at_most_once(traits: int) -> bool:
    return traits & AT_MOST_ONCE != 0
