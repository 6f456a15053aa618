"""onthedot: every due occurrence runs on the dot, once, and is accounted for."""

__version__ = "0.1.0"
