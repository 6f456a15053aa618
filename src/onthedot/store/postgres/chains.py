"""Chains of jobs with a fixed delay on PostgreSQL: what an edit does to them. What the end of a
link does is in `functions/chains.sql`.
"""

from __future__ import annotations

from typing import NamedTuple

from onthedot.core.chaining import Chain, link_of
from onthedot.core.model import NewRun, occurrence
from onthedot.store.postgres.database import Connection
from onthedot.store.postgres.statements import SQL


class Locked(NamedTuple):
    """A chain, if there is one, and where its link is: waiting and unclaimed, or live."""

    chain: Chain | None
    waiting: bool
    live: bool


async def lock_chain(db: Connection, job: int) -> Locked:
    row = await db.fetchrow(SQL["chains.lock"], job)
    if row is None:
        return Locked(None, False, False)
    *columns, waiting, live = row
    return Locked(Chain(*columns), waiting, live)


async def keep_chain(db: Connection, chain: Chain, link: NewRun | None) -> NewRun | None:
    """Where a chain stands from now on; returns its link, if one is to be made.

    Another schedule of the job may have had the same instant: then it is a microsecond later.
    """
    while (  # bounded: history ends
        link is not None
        and chain.due is not None
        and await db.fetchval(SQL["runs.is_taken"], chain.job, chain.run)
    ):
        chain = chain._replace(run=occurrence(chain.due + 1))
    await db.execute(SQL["chains.put"], *chain)
    return None if link is None else link_of(chain)
