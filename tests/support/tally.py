"""What a long run came to: the numbers that its tests recorded, added up by name, at its end.

A plugin of pytest (`-p tests.support.tally`); reports carry what `record_property` was told, from
other processes, too. Only tests that passed count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    passed: list[pytest.TestReport] = terminalreporter.stats.get("passed", [])
    terminalreporter.write_sep("=", "judged without a difference")
    for line in lines(each.user_properties for each in passed if each.when == "call"):
        terminalreporter.write_line(line)


def lines(properties: Iterable[Iterable[tuple[str, Any]]]) -> list[str]:
    """One for each name, in the order of the alphabet."""
    sums: Counter[str] = Counter()
    for each in properties:
        for name, number in each:
            sums[name] += int(number)
    return [f"{number:>11,}  {name}" for name, number in sorted(sums.items())]
