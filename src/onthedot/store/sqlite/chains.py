"""Chains of jobs with a fixed delay on SQLite: whoever ends a link makes the next one."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from onthedot.core.chaining import Chain, following, link_of
from onthedot.core.instants import Instant
from onthedot.core.model import NewRun, Outcome, is_occurrence, occurrence
from onthedot.store.sqlite.database import as_json
from onthedot.store.sqlite.statements import SQL


def chain_of(db: sqlite3.Connection, job: int) -> Chain | None:
    row = db.execute(SQL["chains.get"], (job,)).fetchone()
    return None if row is None else Chain._make(row)._replace(parked=bool(row[-1]))


def keep_chain(db: sqlite3.Connection, chain: Chain, link: NewRun | None) -> NewRun | None:
    """Where a chain stands from now on; returns its link, if one is to be made."""
    if link is not None:
        chain = _free(db, chain)
    db.execute(SQL["chains.put"], chain)
    return None if link is None else link_of(chain)


def advance_chain(db: sqlite3.Connection, job: int, run: int, ended: Instant) -> Instant | None:
    """A run has ended, for good. If it is the link of a chain, make the next one; returns when that
    is due, if it waits.
    """
    chain = chain_of(db, job) if is_occurrence(run) else None
    if chain is None or chain.run != run:
        return None
    chain = _free(db, following(chain, ended))
    db.execute(SQL["chains.advance_chain"], (chain.run, chain.turns, job))
    link = link_of(chain)
    if link is None:
        return None
    row = (*link[:8], 1, 0, 0, link.payload, link.expires)
    db.execute(SQL["runs.insert_waiting"], row)
    return link.due


def links_among(db: sqlite3.Connection, outcomes: Sequence[Outcome]) -> set[tuple[int, int]]:
    """Which of these runs are links."""
    jobs = as_json([outcome.job for outcome in outcomes if is_occurrence(outcome.run)])
    return set(db.execute(SQL["chains.among"], (jobs,)))


def _free(db: sqlite3.Connection, chain: Chain) -> Chain:
    """With a link at an instant that has no fate yet. Another schedule of the job may have had the
    same one: then it is a microsecond later.
    """
    while chain.due is not None and _is_taken(db, chain):  # bounded: history ends
        chain = chain._replace(run=occurrence(chain.due + 1))
    return chain


def _is_taken(db: sqlite3.Connection, chain: Chain) -> bool:
    which = {"job": chain.job, "run": chain.run}
    return bool(db.execute(SQL["runs.is_taken"], which).fetchone()[0])
