"""What executes runs in this process: callbacks always, Python functions where an app is named."""

from __future__ import annotations

from typing import NamedTuple

from onthedot.clock import Clock
from onthedot.errors import CannotStart
from onthedot.roles.declaring import declare
from onthedot.roles.runners import EitherRunner, Post, Runner
from onthedot.roles.runners.child import CannotLoad
from onthedot.roles.runners.functions import FunctionRunner
from onthedot.roles.runners.http import HttpRunner
from onthedot.store.contract import Store


class Executing(NamedTuple):
    """A runner, the names of the Python functions that it has, and what posts to URLs."""

    runner: Runner
    post: Post
    functions: frozenset[str] = frozenset()


async def open_runner(
    app: str | None, count: int, *, version: str, store: Store, clock: Clock
) -> Executing:
    """The jobs that the app declares are brought into the store. `count` 0: as many runner
    processes as are sensible.
    """
    callbacks = HttpRunner(version=version)
    if not app:
        return Executing(callbacks, callbacks.post)
    try:
        functions = await FunctionRunner.open(app, count or None)
    except CannotLoad as error:
        await callbacks.close()
        raise CannotStart(f"{error}", hint="Mend the code, or name another app.") from None
    await declare(store, functions.jobs, app=app, clock=clock)
    return Executing(EitherRunner(callbacks, functions), callbacks.post, functions.functions)
