"""Bugs in what guards the store against late and doubled writes. The roles send none, so these are
found by faults that go to the store directly (`late.py`).
"""

from __future__ import annotations

from tests.simulation.bugs import bug

RUNS_SQL = "store/sqlite/sql/runs.sql"
SINGLY = (
    "where job = :job and run = :run and owner = :node and fence = :fence and attempt = :attempt\n"
)
PLAINLY = (
    "where r.owner = (select node from given) and r.fence = o.fence and r.attempt = o.attempt\n"
)

FENCES = (
    bug(
        "a finish does not mind the fence",
        (RUNS_SQL, SINGLY, SINGLY.replace(" and fence = :fence", "")),
        (RUNS_SQL, PLAINLY, PLAINLY.replace(" and r.fence = o.fence", "")),
        ci=True,
    ),
    bug(
        "a finish minds neither the fence nor the owner",
        (RUNS_SQL, SINGLY, "where job = :job and run = :run and attempt = :attempt\n"),
        (RUNS_SQL, PLAINLY, "where r.attempt = o.attempt\n"),
        ci=True,
    ),
    bug(
        "a start is shown under any fence",
        (
            RUNS_SQL,
            "where job = ? and run = ? and owner = ? and fence = ? and started is null\n",
            "where job = ? and run = ? and owner = ? and ? >= 0 and started is null\n",
        ),
        ci=True,
    ),
    bug(
        "a rescue does not raise the fence",
        (
            RUNS_SQL,
            "set owner = null, fence = fence + 1, started = null, rescues = rescues + 1\n",
            "set owner = null, started = null, rescues = rescues + 1\n",
        ),
        ci=True,
    ),
    bug(
        "a claim looks for no cut",
        (
            "store/sqlite/clock.py",
            '    if db.execute(SQL["clock.any_cut"]).fetchone()[0]:\n',
            "    if False:\n",
        ),
    ),
    bug(
        "an outcome that was given twice counts as it was given last",
        (
            RUNS_SQL,
            "on conflict (job, run, attempt) do nothing\n",
            "on conflict (job, run, attempt) do update set output = excluded.output\n",
        ),
        ci=True,
    ),
)
