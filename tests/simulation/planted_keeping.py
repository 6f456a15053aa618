"""Planted bugs in what functions write together with the completion of their runs."""

from __future__ import annotations

from tests.simulation.bugs import bug

RUNS = "store/sqlite/runs.py"

KEEPING = (
    bug(
        "whoever completes is believed",
        (
            "store/sqlite/sql/runs.sql",
            "fence = :fence and attempt = :attempt and owner is not null",
            ":fence = :fence and :attempt = :attempt and owner is not null",
        ),
    ),
    bug(
        "what a function writes is committed before the completion of its run",
        (
            RUNS,
            "        await self._database.write(\n            lambda db: complete(\n",
            """\
        await self._database.write(
            lambda db: complete(db, ref, attempt, statements, lambda node: None)
        )
        statements = ()
        await self._database.write(\n            lambda db: complete(\n""",
        ),
    ),
    bug(
        "what a function wrote before it failed is kept",
        ("runner/transaction.py", "        if kind is None:\n", "        if True:\n"),
    ),
)
