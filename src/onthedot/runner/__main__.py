"""`python -m onthedot.runner module:app FD PARENT MEMORY`, started by a worker."""

from __future__ import annotations

import sys

from onthedot.runner.process import main

main(sys.argv[1], *map(int, sys.argv[2:5]))
