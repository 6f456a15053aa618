"""What the outside saw: what clients asked and were answered, and the effects of handlers.

Plain values. Instants are microseconds since the epoch by the database's clock, unless `at` says
otherwise: that is the microsecond of the simulation, which nobody can set.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Effect:
    """One start of a handler, and how it went: `end` is 'ok', 'failed', 'refused' (not to be tried
    again), 'undone' (its transaction was refused or not answered) or 'stopped'; None: nobody saw
    its end. `on_threshold`: the process was stalled after it
    had decided to start and before it did, which nobody can help. `runner`: the runner process that
    called it, if it is a `function`; `asked_at`: when that heard that the call shall end. `fence`
    and `rescues`: under which its run was held, as far as the handler is told.
    """

    name: str
    run_id: str
    job_id: str
    attempt: int
    scheduled_for: int
    process: str
    payload: Any
    started: int
    started_at: int
    on_threshold: bool = False
    runner: str | None = None
    function: str | None = None
    asked_at: int | None = None
    fence: int | None = None
    rescues: int = 0
    ended: int | None = None
    ended_at: int | None = None
    end: str | None = None


@dataclass(slots=True)
class Ask:
    """One request of a client. `status` None: it was never answered and may or may not have
    happened.
    """

    what: str
    sent: int
    sent_at: int
    method: str
    path: str
    said: Any = None
    key: str | None = None
    expected: int | None = None
    job_id: str | None = None
    run_id: str | None = None
    status: int | None = None
    answered: int | None = None
    answered_at: int | None = None
    answer: Any = None


@dataclass(slots=True)
class Told:
    """One notice of a failed run as it arrived, at that microsecond of the simulation. `accepted`:
    whether the receiver took it; `genuine`: whether its signature holds.
    """

    run_id: str
    key: str
    process: str
    said: Any
    genuine: bool
    at: int
    accepted: bool


@dataclass(slots=True)
class Kept:
    """What a function wrote in the transaction of its run, as it is found in the end."""

    run_id: str
    effect: str


@dataclass(slots=True)
class Trouble:
    """Something befell a process, at that microsecond of the simulation, for so long."""

    process: str
    at: int
    what: str
    for_us: int = 0


@dataclass(slots=True)
class History:
    """`slack`: by how much the authority's clock was set back in all. `calm`: no fault at all was
    asked for. `healed_at`: since when there are none. `prompt_s`: how soon a due run must start in
    calm times. `runner_deaths`: at which microsecond each runner process was gone. `runner_kills`:
    those of them that their worker killed. `hears`: some hints arrive. `slots`: how many runs a
    process has room for. `processes`: how many there are.
    """

    effects: list[Effect] = field(default_factory=list)
    asks: list[Ask] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    accidents: list[str] = field(default_factory=list)
    runner_deaths: dict[str, int] = field(default_factory=dict)
    runner_kills: set[str] = field(default_factory=set)
    slack: int = 0
    calm: bool = False
    healed_at: int = 0
    prompt_s: float = 1.6
    hears: bool = True
    slots: int = 0
    processes: int = 0
    settled: bool = False
