"""Whether this node is doing its work."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Health:
    """`problems` is empty when all is well; each is one sentence that a person on call can
    act on.
    """

    node: int
    roles: tuple[str, ...]
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.problems
