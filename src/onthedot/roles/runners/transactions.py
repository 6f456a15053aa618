"""The transactions of functions where only the server opens the database."""

from __future__ import annotations

from onthedot.clock import Clock
from onthedot.core.model import LeasedRun, RunRef
from onthedot.errors import OnthedotError
from onthedot.store.contract import Store
from onthedot.store.transactions import Statement, Table
from onthedot.wire.pipe import SqlReply, SqlRequest


class FunctionTransactions:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def answer(self, run: LeasedRun, asked: SqlRequest) -> SqlReply:
        """Do what a call asks for. If nobody knows whether a completion was committed, the call
        fails; the outcome that follows is then a repeat, or the word that counts.
        """
        statements = [Statement(sql, many) for sql, many in asked.statements]
        try:
            if not asked.completes:
                table = await self._store.runs.query(statements[0])
                return SqlReply(asked.ask, None, *table)
            await self._store.runs.complete(
                RunRef(run.job, run.run, run.fence),
                run.attempt,
                statements,
                started=max(asked.started, run.due),
                now=max(asked.started, run.due, self._clock.now()),
            )
        except OnthedotError as error:
            return SqlReply(asked.ask, f"{type(error).__name__}: {error.message}")
        except Exception as error:  # noqa: BLE001  (whatever the store cannot take)
            return SqlReply(asked.ask, f"{type(error).__name__}: {error}")
        return SqlReply(asked.ask, None, *Table([], []))
