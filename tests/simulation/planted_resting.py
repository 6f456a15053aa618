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
            "store/sqlite/outcomes.py",
            "    links = [each for each in ordered if is_chained(each.traits)]\n",
            "    links = [each for each in ordered if is_chained(each.traits) > each.is_failure]\n",
        ),
    ),
    bug(
        "a cancelled run is the last of its chain",
        (
            "store/sqlite/outcomes.py",
            "    end_runs(db, [run.ended(status, reason=reason, now=now)])\n",
            "    end_runs(db, [run.ended(status, reason=reason, now=now)._replace(traits=0)])\n",
        ),
    ),
    bug(
        "an edit begins a second chain beside the run that is under way",
        ("core/editing.py", "(self.live or (self.waiting", "(False or (self.waiting"),
    ),
)
