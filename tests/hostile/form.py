"""How long the hostile tests are: short in `dev.py test`, long in `dev.py hostile`."""

from __future__ import annotations

import os

LONG = os.environ.get("ONTHEDOT_HOSTILE_LONG") == "1"
