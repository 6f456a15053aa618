"""The simulation from the command line; see `command.py`."""

import signal
import sys

from tests.simulation.command import main

if __name__ == "__main__":
    # Whoever ends a long run by its id wants what it has done to be written, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main(sys.argv[1:]))
