"""Bugs that were planted on purpose, each of which the simulation must find.

A patch replaces a text that occurs exactly once in its file. When a change of the product moves
one, plant the same bug again in the new place; when it makes the bug impossible, say so and delete
it. `ci` marks those that every change is checked with.
"""

from __future__ import annotations

from tests.simulation.bugs import bug
from tests.simulation.planted_failures import FAILURES
from tests.simulation.planted_fences import FENCES
from tests.simulation.planted_keeping import KEEPING
from tests.simulation.planted_resting import RESTING

RUNS_SQL = "store/sqlite/sql/runs.sql"
NODES_SQL = "store/sqlite/sql/nodes.sql"
CLOCK_SQL = "store/sqlite/sql/clock.sql"
RUNS = "store/sqlite/runs.py"
JOBS = "store/sqlite/jobs.py"
CLOCK = "store/sqlite/clock.py"
FIRING = "core/firing.py"
EDITING = "core/editing.py"
RECOVERY = "core/recovery.py"


CLAIMS = (
    bug(
        "advance and record in two transactions",
        (
            CLOCK,
            "        return await self._database.write(lambda db: _fire(db, plan, lessee, now))\n",
            """\
        def advance(db: sqlite3.Connection) -> None:
            require_alive(db, lessee.node)
            _advance(db, plan)

        await self._database.write(advance)
        plan.taken, plan.nexts, plan.closed = [], [], []
        return await self._database.write(lambda db: _fire(db, plan, lessee, now))
""",
        ),
        ci=True,
    ),
    bug(
        "a claim does not mind that an entry is gone",
        (CLOCK, "    if found != len(plan.taken):\n", "    if False:\n"),
    ),
    bug(
        "a claim does not look for edits since it read",
        (
            CLOCK,
            "    if any(cut not in known for cut in _cuts_of(db, plan.taken)):",
            "    if False:",
        ),
    ),
    bug(
        "the row of an ended version goes before its entry",
        (
            FIRING,
            "        fate.next = None\n        plan.closed.append(",
            "        plan.closed.append(",
        ),
    ),
    bug(
        "the horizon is not raised",
        (CLOCK_SQL, "set horizon = max(horizon, :until)", "set horizon = max(horizon, 0 * :until)"),
    ),
    bug(
        "a missed range counts what was caught up",
        (FIRING, "else whole.count - kept", "else whole.count"),
    ),
    bug(
        "the window of catching up is off by one occurrence",
        (
            FIRING,
            "    young = rule.schedule.after(old.last, anchor=entry.due)\n",
            (
                "    young = rule.schedule.after(old.last, anchor=entry.due)\n"
                "    young = young and rule.schedule.after(young, anchor=entry.due)\n"
            ),
        ),
    ),
    bug(
        "the latest of the missed is not run",
        (
            FIRING,
            'elif rule.catch_up == "latest" and (young is None or young > min(last, now)):',
            'elif rule.catch_up == "latest" and young is None:',
        ),
    ),
    bug(
        "a schedule drifts by a microsecond a turn",
        (
            "core/schedules/every.py",
            "        due = anchor + turns * self.every_us\n",
            "        due = anchor + turns * self.every_us + (turns > 1)\n",
        ),
        ci=True,
    ),
    bug(
        "a fixed time in the gap of a clock change is lost",
        (
            "core/schedules/cron_program.py",
            '        if not 0 < shift < GAP_S_MAX or self._gap == "skip":\n',
            "        if shift:\n",
        ),
    ),
    bug(
        "some shards are nobody's",
        (RECOVERY, "shard for shard in range(SHARDS) if", "shard for shard in range(4) if"),
    ),
    bug(
        "the clock is read every four seconds",
        (
            "roles/scheduler.py",
            "        return min(SCAN_S, max(0.0, (next_at - self._clock.now()) / SECOND))\n",
            "        return 4.0\n",
        ),
    ),
)

EDITS = (
    bug(
        "a pause does not stop the clock",
        (
            EDITING,
            "entry=None if definition.paused else first_entry(job, cut)",
            "entry=first_entry(job, cut)",
        ),
        ci=True,
    ),
    bug(
        "what a pause held back is not recorded",
        (EDITING, "record = None if still_paused else _skipped(current)", "record = None"),
    ),
    bug(
        "an edit within a pause records it twice",
        (
            EDITING,
            "record = None if still_paused else _skipped(current)",
            "record = _skipped(current)",
        ),
    ),
    bug(
        "an edit does not end the old version",
        (JOBS, "    if armed:\n", "    if armed and deleted:\n"),
    ),
    bug(
        "a new version begins one occurrence late",
        (
            EDITING,
            (
                "        return None if schedule is None else"
                " schedule.after(after, anchor=job.anchor)\n"
            ),
            (
                "        if schedule is None:\n"
                "            return None\n"
                "        due = schedule.after(after, anchor=job.anchor)\n"
                "        return due if job.version == 1 or due is None else"
                " schedule.after(due, anchor=job.anchor)\n"
            ),
        ),
    ),
    bug(
        "an edit is taken for any version",
        (JOBS, "    if expected is not None and expected != old.version:", "    if False:"),
    ),
    bug(
        "a delete forgets the runs that wait",
        (JOBS, '    rows += db.execute(SQL["jobs.waiting_of"], (job,)).fetchall()\n', ""),
    ),
    bug(
        "the answer to a key is not kept",
        (JOBS, "    if receipt is not None:\n        answer", "    if False:\n        answer"),
    ),
)

LEASES = (
    bug(
        "whoever finishes is believed",
        (
            RUNS_SQL,
            (
                "where job = :job and run = :run and owner = :node and fence = :fence and"
                " attempt = :attempt\n"
            ),
            "where job = :job and run = :run\n",
        ),
        (
            RUNS_SQL,
            (
                "where r.owner = (select node from given) and r.fence = o.fence and"
                " r.attempt = o.attempt\n"
            ),
            "where true\n",
        ),
        (
            RUNS,
            "    require_alive(db, node)\n    cancel_requests, ",
            "    cancel_requests, ",
        ),
    ),
    bug(
        "the living are rescued, too",
        (NODES_SQL, "where dead_at is not null and settled = 0", "where settled = 0"),
        ci=True,
    ),
    bug(
        "a lease ends after three seconds",
        (RECOVERY, "LEASE_US = 15 * SECOND\n", "LEASE_US = 3 * SECOND\n"),
    ),
    bug(
        "a node without a heartbeat goes on starting",
        (RECOVERY, "START_LIMIT_S = 12.0\n", "START_LIMIT_S = 1200.0\n"),
    ),
    bug(
        "a dead node is settled after its first run",
        (RUNS, '"limit": limit - rescued}', '"limit": 1}'),
    ),
    bug(
        "a rescue uses up an attempt",
        (
            RUNS_SQL,
            "started = null, rescues = rescues + 1\n",
            "started = null, rescues = rescues + 1, attempt = attempt + 1\n",
        ),
    ),
    bug(
        "a run that is given back uses up an attempt",
        (
            RUNS_SQL,
            "-- name: runs.give_back\nupdate run\nset owner = null, fence = fence + 1,",
            (
                "-- name: runs.give_back\nupdate run\nset owner = null, attempt = attempt + 1,"
                " fence = fence + 1,"
            ),
        ),
    ),
    bug(
        "a claim whose answer was lost is not looked for",
        (
            RECOVERY,
            "    return [ref for ref in unknown if ref in doubted], frozenset(unknown) - doubted\n",
            "    return [], frozenset(unknown)\n",
        ),
    ),
    bug(
        "a dead node does not hear of its death",
        (
            "roles/loop.py",
            "        except NodeDead:\n            raise\n",
            "",
        ),
    ),
    bug(
        "a run can be leased twice",
        (
            RUNS_SQL,
            "where job = :job and run = :run and owner is null\nreturning job",
            "where job = :job and run = :run\nreturning job",
        ),
        (RUNS_SQL, "where owner is null and lane = :lane and", "where lane = :lane and"),
    ),
)

ATTEMPTS = (
    bug(
        "one attempt too many",
        ("core/retrying.py", "return attempt <= retries\n", "return attempt <= retries + 1\n"),
        ci=True,
    ),
    bug(
        "one attempt too few",
        ("core/retrying.py", "return attempt <= retries\n", "return attempt < retries\n"),
    ),
    bug(
        "a retry does not wait",
        (
            "core/retrying.py",
            "    return round(delay / 2 + delay / 2 * jitter)\n",
            "    return round(delay / 20 * jitter)\n",
        ),
    ),
    bug(
        "a cancel is forgotten at the retry",
        (
            RUNS,
            "_cancelled_if_requested(db, outcome, node) if cancel_requests else outcome",
            "outcome",
        ),
    ),
    bug(
        "a cancel is forgotten at the rescue",
        (
            RUNS,
            (
                "    cancel_request = signal_for(db, run.owner, run.job, run.run)\n"
                "    if cancel_request is not None:\n"
                "        end_unstarted"
            ),
            (
                "    cancel_request = signal_for(db, run.owner, run.job, run.run)\n    if False:\n"
                "        end_unstarted"
            ),
        ),
    ),
    bug(
        "a cancel ends what somebody holds",
        (RUNS, "    if held.owner is None:\n", "    if True:\n"),
    ),
    bug(
        "a start comes before its instant",
        (
            "roles/worker.py",
            "self._holding.take_due(self._clock.now(), limit)",
            "self._holding.take_due(self._clock.now() + 100_000, limit)",
        ),
    ),
    bug(
        "the database's clock is thought to be ahead",
        (
            "clock.py",
            "self._bounds.append((arrived, stamp - _microseconds(arrived)))",
            "self._bounds.append((arrived, stamp + 20_000 - _microseconds(arrived)))",
        ),
    ),
    bug(
        "nobody is told when waiting runs come up for anybody",
        (RUNS, "Promoted(leased, len(rows), tuple(unowned))", "Promoted(leased, len(rows))"),
    ),
    bug(
        "without a hint nobody looks at the queue",
        (
            "roles/worker.py",
            "return self._polled_at + POLL_S - self._clock.monotonic()",
            "return POLL_S",
        ),
    ),
    bug(
        "outcomes are forgotten before they are written",
        (
            "roles/finisher.py",
            "        await self._finish(group)\n        del self._outcomes[: len(group)]\n",
            "        del self._outcomes[: len(group)]\n        await self._finish(group)\n",
        ),
    ),
    bug(
        "what may start once is rescued like the rest",
        (RUNS, "            if is_at_most_once(run.traits):\n", "            if False:\n"),
    ),
    bug(
        "what may start once is given back by a drain",
        (
            "roles/attempt.py",
            "        if under_way.run.at_most_once:\n",
            "        if False:\n",
        ),
    ),
    bug(
        "nothing times out",
        (
            "roles/attempt.py",
            "_patience_us(under_way) / SECOND)",
            "_patience_us(under_way) / SECOND + 1e9)",
        ),
    ),
)

BUGS = (*CLAIMS, *EDITS, *LEASES, *ATTEMPTS, *FAILURES, *KEEPING, *RESTING, *FENCES)
