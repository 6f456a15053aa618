"""What executes runs in this process: callbacks always, Python functions where an app is named."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from onthedot.clock import Clock
from onthedot.core.declared import DeclaredJob
from onthedot.errors import CannotStart
from onthedot.roles.runners import EitherRunner, Post, Runner
from onthedot.roles.runners.child import CannotLoad, RunnerChild
from onthedot.roles.runners.functions import FunctionRunner
from onthedot.roles.runners.http import HttpRunner
from onthedot.roles.runners.transactions import FunctionTransactions
from onthedot.store.contract import Store
from onthedot.usecases.declaring import declare


class Executing(NamedTuple):
    """A runner, what posts to URLs, and the names of the Python functions that it has, in how many
    processes.
    """

    runner: Runner
    post: Post
    functions: frozenset[str] = frozenset()
    declared: DeclaredJob | None = None
    runners: int = 0


class Functions(Runner, Protocol):
    """A runner of Python functions. `app` names where they come from, `jobs` are declared there."""

    app: str
    functions: frozenset[str]
    count: int
    jobs: Sequence[dict[str, Any]]


async def open_functions(
    app: str, count: int, *, transactions: FunctionTransactions | None = None, database: str = ""
) -> Functions:
    """The functions of `module:app`, in `count` processes of their own; 0: as many as are
    sensible. `database`: where they may write themselves; empty: through `transactions`.
    """
    try:
        make_child = partial(RunnerChild, database=database)
        return await FunctionRunner.open(
            app, count or None, make_child=make_child, transactions=transactions
        )
    except CannotLoad as error:
        raise CannotStart(f"{error}", hint="Fix the code, or name another app.") from None


async def open_runner(
    functions: Functions | None, *, version: str, store: Store, clock: Clock
) -> Executing:
    """The jobs that the app declares are brought into the store."""
    callbacks = HttpRunner(version=version)
    if functions is None:
        return Executing(callbacks, callbacks.post)
    runner = EitherRunner(callbacks, functions)
    try:
        declared = await declare(store, functions.jobs, app=functions.app, clock=clock)
    except BaseException:
        await runner.close()
        raise
    return Executing(runner, callbacks.post, functions.functions, declared, functions.count)
