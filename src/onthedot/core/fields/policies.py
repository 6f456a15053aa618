"""How the runs of a job are executed, and what becomes of those that were missed or failed."""

from __future__ import annotations

from typing import Final, Literal

from onthedot.core.fields.declaring import Field, Kind
from onthedot.core.fields.what import URL_LIMITS, URL_SAYS, WORD
from onthedot.core.instants import DAY
from onthedot.core.model import CatchUp, Guarantee

_WAIT_MAX: Final = 30 * DAY
_CATCH_UP: Final = "guide.md#when-the-server-was-away"

_BACKOFF: Final = (
    Field(
        name="initial",
        about="The wait after the first failed attempt, at most 30 days.",
        kind=Kind.DURATION,
        at="backoff.initial_us",
        most_us=_WAIT_MAX,
    ),
    Field(
        name="factor",
        type=float,
        about="What the wait is multiplied by after each further one.",
        at="backoff.factor",
        limits={"ge": 1, "le": 10},
        says="a number from 1 to 10",
    ),
    Field(
        name="max",
        about="The longest wait, at most 30 days.",
        kind=Kind.DURATION,
        at="backoff.max_us",
        most_us=_WAIT_MAX,
    ),
)
_ON_FAILURE: Final = (
    Field(
        name="url",
        about="Where the notice of a failed run goes, as an HTTP POST. 2xx means that it was "
        "received.",
        required=True,
        limits=URL_LIMITS,
        says=URL_SAYS,
        hint="Write it like 'https://example.com/hooks/failed'.",
        examples=("https://example.com/hooks/failed",),
    ),
)

POLICIES: Final = (
    Field(
        name="timeout",
        about="How long an attempt may take, more than 0, at most 24 hours. From 1 second on it "
        "may end up to 2 % later, never earlier.",
        kind=Kind.DURATION,
        at="timeout_us",
        least_us=1,
        most_us=DAY,
        examples=(1.5, "PT5M"),
    ),
    Field(
        name="retries",
        type=int,
        about="Extra attempts after the first. 3.0 counts as 3. With at_most_once always 0.",
        at="retries",
        limits={"ge": 0, "le": 100},
    ),
    Field(
        name="backoff",
        about="How long failed attempts wait before the next one. `initial` × `factor` per "
        "attempt, at most `max`; each wait is shortened at random, by up to half.",
        kind=Kind.OBJECT,
        says='an object such as {"initial": 1, "factor": 2, "max": 3600}',
        examples=({"initial": 1, "factor": 2, "max": 3600},),
        members=_BACKOFF,
    ),
    Field(
        name="queue",
        about="The queue of its runs, to which workers subscribe.",
        at="queue",
        limits={"min_length": 1, "max_length": 100},
        pattern=WORD,
        says="a word of 1 to 100 letters, digits or _ . : / = @ + -, beginning with a letter or "
        "digit",
    ),
    Field(
        name="priority",
        type=int,
        about="The order of due runs: 9 goes first, 0 last. 5.0 counts as 5.",
        at="priority",
        limits={"ge": 0, "le": 9},
    ),
    Field(
        name="guarantee",
        type=Guarantee,
        about="Whether a run may be started again when its outcome is unknown. `at_least_once`: "
        "every run reaches an end. `at_most_once`: no run is started twice; one whose "
        "outcome is unknown ends as lost. `exactly_once`: what a Python function writes "
        "through `ctx.transaction()` is committed once, together with the end of the run.",
        at="guarantee",
        see="concepts/guarantees.md",
    ),
    Field(
        name="catch_up",
        type=CatchUp,
        about="Which occurrences older than the catch-up window still run.",
        at="catch_up",
        see=_CATCH_UP,
    ),
    Field(
        name="catch_up_window",
        about="An occurrence younger than this is late, never missed.",
        kind=Kind.DURATION,
        at="catch_up_window_us",
        see=_CATCH_UP,
    ),
    Field(
        name="catch_up_max_age",
        about="Never catch up what is older than this. Null: however old.",
        kind=Kind.DURATION,
        at="catching.age_us",
        nullable=True,
        examples=("P1D",),
        see=_CATCH_UP,
    ),
    Field(
        name="catch_up_max",
        type=int,
        about="With catch-up 'all', how many occurrences are caught up, the newest.",
        at="catching.most",
        limits={"ge": 1, "le": 10_000},
        see=_CATCH_UP,
    ),
    Field(
        name="catch_up_rate",
        type=int,
        about="With catch-up 'all', how many occurrences are started in a second.",
        at="catching.rate",
        limits={"ge": 1, "le": 1_000},
        see=_CATCH_UP,
    ),
    Field(
        name="overlap",
        type=Literal["allow"],
        about="Whether runs of one job may overlap. Only `allow` for now.",
        at="overlap",
        later="Leave it out or use 'allow'.",
    ),
    Field(
        name="paused",
        type=bool,
        about="Skip occurrences while paused. A trigger still works.",
        at="paused",
    ),
    Field(
        name="on_failure",
        about="Who is told when a run has failed for good, or is lost. Null: nobody.",
        kind=Kind.OBJECT,
        nullable=True,
        says='an object such as {"url": "https://example.com/hooks/failed"}, or null',
        examples=({"url": "https://example.com/hooks/failed"},),
        members=_ON_FAILURE,
        shorthand="url",
        see="guide.md#being-told-of-failures",
    ),
)
