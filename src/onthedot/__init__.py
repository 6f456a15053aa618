"""onthedot: every due occurrence runs on the dot, once, and is accounted for."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onthedot.sdk.app import App
    from onthedot.sdk.client import Client
    from onthedot.sdk.context import Context

__all__ = ["App", "Client", "Context", "__version__"]
__version__ = "0.1.0"

_HOMES = {
    "App": "onthedot.sdk.app",
    "Client": "onthedot.sdk.client",
    "Context": "onthedot.sdk.context",
}


def __getattr__(name: str) -> object:
    """Loaded when asked for: the command line starts in a blink and needs neither."""
    if name not in _HOMES:
        raise AttributeError(f"module 'onthedot' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
