"""Planted bugs in the chains of jobs with a fixed delay."""

from __future__ import annotations

from tests.simulation.bugs import bug

RESTING = (
    bug(
        "a fixed delay counts from the instant, not from the end",
        (
            "core/chaining.py",
            ".at(max(ended, chain.due) + chain.delay_us)",
            ".at(chain.due + chain.delay_us)",
        ),
    ),
    bug(
        "a failed run is the last of its chain",
        (
            "store/sqlite/runs.py",
            "        if final[:2] in links:\n",
            "        if final[:2] in links and final.status not in FAILURES:\n",
        ),
    ),
    bug(
        "a cancelled run is the last of its chain",
        (
            "store/sqlite/outcomes.py",
            "    advance_chain(db, run.job, run.run, now)\n\n\ndef lose",
            "\n\ndef lose",
        ),
    ),
    bug(
        "an edit begins a second chain beside the run that is under way",
        ("core/editing.py", "(self.live or (self.waiting", "(False or (self.waiting"),
    ),
)
