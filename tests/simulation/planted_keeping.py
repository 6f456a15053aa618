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
        "a completion is not that of a living node's run",
        (
            "store/sqlite/completing.py",
            "    require_alive(db, holder[0])\n",
            "",
        ),
        (
            "store/sqlite/completing.py",
            "    finish(holder[0])\n",
            (
                "    try:\n        finish(holder[0])\n    except Exception:\n"
                "        pass  # its writes are kept\n"
            ),
        ),
    ),
    bug(
        "what a function wrote before it failed is kept",
        ("sdk/transaction.py", "        if kind is None:\n", "        if True:\n"),
    ),
    bug(
        "a completed run is called again when its runner dies",
        ("roles/runners/functions.py", "        if under.completed:\n", "        if False:\n"),
    ),
    bug(
        "a run is called again while it is being completed",
        ("roles/runners/functions.py", "        if under.completing:", "        if False:"),
    ),
)
