"""How long the crash tests are: eight kills by default, the long form from twenty on.

ONTHEDOT_CRASH_KILLS=20   so many kills, and a freeze beyond the lease
ONTHEDOT_CRASH_SEED=7     the moments of an earlier run again
"""

from __future__ import annotations

import os
import random

KILLS = int(os.environ.get("ONTHEDOT_CRASH_KILLS", "8"))
LONG = KILLS >= 20
SEED = int(os.environ.get("ONTHEDOT_CRASH_SEED", str(random.randrange(1_000_000))))
# A kill, a start and the life in between take four seconds, twice that on a busy machine.
TIMEOUT_S = 120 + 12 * KILLS
