"""Planted bugs in what becomes of failed runs: letters, notices, runners that die."""

from __future__ import annotations

from tests.simulation.bugs import bug

FUNCTIONS = "roles/runners/functions.py"
RUNS = "store/sqlite/runs.py"
OUTCOMES = "store/sqlite/outcomes.py"
DEAD_LETTERS_SQL = "store/shared/sql/dead_letters.sql"
OUTBOX_SQL = "store/shared/sql/outbox.sql"

FAILURES = (
    bug(
        "the notice is written after the outcome, in another transaction",
        (
            OUTCOMES,
            "    note_failures(db, [each for each in ordered if each.is_failure])\n",
            "",
        ),
        (
            RUNS,
            "    return await self._database.write(lambda db: _finish(db, node, outcomes, now))",
            """\
    done = await self._database.write(lambda db: _finish(db, node, outcomes, now))
        from onthedot.store.sqlite.outbox import note_failures
        failures = [each for each in outcomes if each.status == "failed" and not each.retry_at]
        await self._database.write(lambda db: note_failures(db, failures))
        return done""",
        ),
    ),
    bug(
        "a notice is for whoever comes next, not for who took it",
        (OUTBOX_SQL, "set at = :until, tries", "set at = at + 0 * :until, tries"),
    ),
    bug(
        "a notice is forgotten before it is delivered",
        (
            "roles/notifier.py",
            "        self._unsettled += await asyncio.gather(",
            """\
        taken = [Delivery(each.job, each.run, each.tries) for each in notices]
        await self._store.outbox.settle(taken, now=now)
        self._unsettled += await asyncio.gather(""",
        ),
    ),
    bug(
        "a retry is told as a failure",
        (
            RUNS,
            "            retries.append(final.retry_at)\n",
            """\
            retries.append(final.retry_at)
            from onthedot.store.sqlite.outbox import note_failures
            note_failures(db, [final])
""",
        ),
    ),
    bug(
        "a redriven letter stays",
        (
            DEAD_LETTERS_SQL,
            "delete from dead\nwhere job = :job and run = :run\nreturning",
            "update dead set due = due\nwhere job = :job and run = :run\nreturning",
        ),
        (
            "store/sqlite/migrations/0001.sql",
            "create unique index redrive_old on",
            "create index redrive_old on",
        ),
    ),
    bug(
        "a redrive does not say what it does again",
        (
            "store/sqlite/dead_letters.py",
            '    db.execute(SQL["dead_letters.remember"], (job, number, run))\n',
            "",
        ),
    ),
    bug(
        "a function that kills its runners is called for ever",
        (FUNCTIONS, "        if under.deaths >= DEATHS_MAX:\n", "        if under.deaths < 0:\n"),
    ),
    bug(
        "the neighbours of a killer are blamed for its deaths",
        (FUNCTIONS, "        under.deaths += alone\n", "        under.deaths += 1\n"),
    ),
    bug(
        "suspects are called among the others",
        (
            FUNCTIONS,
            "            return\n        self._suspects.append(under)\n",
            "            return\n        self._assign(under)\n",
        ),
    ),
    bug(
        "a function that kills its runners is called among the others",
        (FUNCTIONS, "        if turns.deadly and under", "        if not turns.deadly and under"),
    ),
    bug(
        "a suspect that was stopped while it waited is tried all the same",
        (
            FUNCTIONS,
            "if under.begin.number in self._calls:  # else it was stopped while it waited",
            "if under.begin.number:",
        ),
    ),
    bug(
        "the next suspect is forgotten when one is quarantined",
        (
            FUNCTIONS,
            "        child.under_way.clear()\n        self._try_next()\n",
            (
                "        child.under_way.clear()\n        if alone:\n"
                "            self._accused = None\n        self._try_next()\n"
            ),
        ),
        (
            FUNCTIONS,
            "        if alone:  # before anybody is told of an end, which may bring the next one",
            "        if alone and self._closing:  # which may bring the next one",
        ),
    ),
    bug(
        "a kill by the worker itself is not counted",
        (
            FUNCTIONS,
            "waited_s=ASKED_S)\n        self._note_kill(under)\n",
            "waited_s=ASKED_S)\n",
        ),
    ),
    bug(
        "what may start once is called among the others",
        (FUNCTIONS, "self._pools.once if run.at_most_once else ", ""),
    ),
    bug(
        "a runner is killed with all the others in it",
        (
            "core/killers.py",
            "    return min(max(at, last) if others else at, last + ASKED_S)\n",
            "    return at\n",
        ),
    ),
)
