"""onthedot: every due occurrence runs on the dot, once, and is accounted for."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onthedot.sdk.app import App
    from onthedot.sdk.context import Context

__all__ = ["App", "Context", "__version__"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Loaded when asked for: the command line starts in a blink and needs neither."""
    if name == "App":
        from onthedot.sdk.app import App  # noqa: PLC0415

        return App
    if name == "Context":
        from onthedot.sdk.context import Context  # noqa: PLC0415

        return Context
    raise AttributeError(f"module 'onthedot' has no attribute {name!r}")
