"""What a planted bug is: texts of the product, and what stands there instead."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patch:
    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Bug:
    name: str
    patches: tuple[Patch, ...]
    ci: bool = False


def bug(name: str, *patches: tuple[str, str, str], ci: bool = False) -> Bug:
    return Bug(name, tuple(Patch(*patch) for patch in patches), ci)
