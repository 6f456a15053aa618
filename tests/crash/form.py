"""How long the crash tests are: eight kills by default, one in the quick tier, the long form from
twenty on.

ONTHEDOT_CRASH_KILLS=20   so many kills of a server and of a node of three, longer freezes, and a
                          database that is away for a minute
ONTHEDOT_CRASH_SEED=7     the moments of an earlier run again
"""

from __future__ import annotations

import os
import random

from tests.tiers import QUICK

KILLS = int(os.environ.get("ONTHEDOT_CRASH_KILLS", "1" if QUICK else "8"))
LONG = KILLS >= 20
SEED = int(os.environ.get("ONTHEDOT_CRASH_SEED", str(random.randrange(1_000_000))))
NODE_KILLS = KILLS if LONG else min(KILLS, 3)
# A kill, a start and the life in between take four seconds, twice that on a busy machine.
TIMEOUT_S = 120 + 12 * KILLS
# Three processes to start and to kill, and three times the runs to read and judge.
CLUSTER_TIMEOUT_S = 2 * TIMEOUT_S
