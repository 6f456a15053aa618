"""The fields of a job, each with its type, its limits, what it means and what it expects.

One declaration serves four ends: it checks what comes in, words the refusal, documents the API
and tells the SDK its types. `expects` completes the sentence "timeout must be …, not …".
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

from msgspec import Meta

PAYLOAD_BYTES_MAX: Final = 64 * 1024
LABEL_MAX: Final = 200
TAGS_MAX: Final = 20
URL_MAX: Final = 2048

_LABEL: Final = r"[^\x00-\x1f\x7f-\x9f]*"
_WORD: Final = r"[A-Za-z0-9][A-Za-z0-9_.:/=@+-]*"


def about(description: str, expects: str, **more: Any) -> Meta:
    """A field's documentation and limits.

    `pattern` must match the whole text (every text of a list). `hint` is the next step after a
    refusal. `later` is that hint for text that this version does not understand yet. The rest
    goes to msgspec as it is.
    """
    extra: dict[str, Any] = {
        "expects": expects,
        "hint": more.pop("hint", ""),
        "later": more.pop("later", ""),
    }
    schema = {"default": more.pop("default")} if "default" in more else {}
    pattern = more.pop("pattern", None)
    if pattern is not None:
        # Not msgspec's own `pattern`: its `$` also matches before a final line break.
        extra["pattern"] = re.compile(pattern)
        # On a list the pattern belongs to the elements, which declare it themselves.
        schema |= {} if more.pop("of_elements", False) else {"pattern": f"^{pattern}$"}
    return Meta(description=description, extra=extra, extra_json_schema=schema or None, **more)


_DURATION: Final = "a number of seconds or an ISO 8601 duration such as 'PT5M'"
_INSTANT: Final = "an RFC 3339 instant such as '2027-01-31T09:30:00Z'"

Name = Annotated[
    str,
    about(
        "A label for people. It need not be unique.",
        f"text of 1 to {LABEL_MAX} characters without control characters",
        min_length=1,
        max_length=LABEL_MAX,
        pattern=_LABEL,
        examples=["nightly report"],
    ),
]
Key = Annotated[
    str,
    about(
        "Your own id for the job, unique within its namespace.",
        f"text of 1 to {LABEL_MAX} characters without control characters, or null",
        min_length=1,
        max_length=LABEL_MAX,
        pattern=_LABEL,
        examples=["billing/nightly-report"],
    ),
]
Owner = Annotated[
    str,
    about(
        "Who to ask about the job.",
        f"text of 1 to {LABEL_MAX} characters without control characters, or null",
        min_length=1,
        max_length=LABEL_MAX,
        pattern=_LABEL,
        examples=["team-billing"],
    ),
]
Namespace = Annotated[
    Literal["default"],
    about("The tenant.", "'default'", default="default", later="Leave it out or use 'default'."),
]
HandlerUrl = Annotated[
    str,
    about(
        "Where the payload is sent, as an HTTP POST. 2xx is success.",
        f"an absolute http or https URL of at most {URL_MAX} characters",
        hint="Write it like 'https://example.com/hooks/report'.",
        min_length=1,
        max_length=URL_MAX,
        examples=["https://example.com/hooks/report"],
    ),
]
Handler = Annotated[
    str,
    about(
        "The name of a Python function, instead of handlerUrl. Workers that have it call it.",
        "a name of 1 to 200 letters, digits or _ . : / = @ + -, beginning with a letter or digit",
        hint="Functions are declared with @app.job and run by `onthedot serve --app module:app`.",
        min_length=1,
        max_length=200,
        pattern=_WORD,
        examples=["shop.billing.charge"],
    ),
]
Payload = Annotated[
    Any,
    about(
        "Any JSON value of at most 64 KB, sent to the handler. Without one, `{}` is sent.",
        "a JSON value",
        examples=[{"report": "nightly"}],
    ),
]
CronExpr = Annotated[
    str,
    about(
        "Minute, hour, day of month, month, day of week, with six fields after a second, with "
        "seven before a year; or a nickname such as @daily. `@every 90s` is shown as `every`.",
        "a cron expression such as '0 9 * * MON-FRI', as text",
        examples=["0 9 * * MON-FRI"],
    ),
]
EveryField = Annotated[
    float | str,
    about(
        "An interval, at least 1 second. The first occurrence is one interval after creation.",
        _DURATION,
        examples=[30, "PT5M"],
    ),
]
FixedDelayField = Annotated[
    float | str,
    about(
        "Each run is due so long after the end of the last one, whatever came of it; at least 1 "
        "second. The first one is due so long after creation, or at `startAt`.",
        _DURATION,
        examples=[900, "PT15M"],
    ),
]
RunAt = Annotated[
    str,
    about(
        "One instant. One that has passed runs at once.",
        _INSTANT,
        examples=["2027-01-31T09:30:00Z"],
    ),
]
After = Annotated[
    str,
    about(
        "Strictly after this instant; without one, after now.",
        _INSTANT,
        examples=["2027-01-31T09:30:00Z"],
    ),
]
Delay = Annotated[
    float | str,
    about("One instant, counted from now. Shown as `runAt` in answers.", _DURATION, examples=[90]),
]
ScheduleText = Annotated[
    str,
    about(
        "Any schedule as text: plain English, cron, `@every 90s`, an ISO 8601 duration or "
        "repeating interval, an instant, a fixed delay. Shown as it was written.",
        "a schedule as text",
        examples=[
            *("every weekday at 9am", "P1M", "R5/2027-01-01T00:00:00Z/PT1H"),
            "15 minutes after the last run",
        ],
    ),
]
Timezone = Annotated[
    str,
    about(
        "The IANA zone in which `cronExpr` and `schedule` are read.",
        "the name of a time zone, as text",
        hint="Use an IANA name such as UTC, Europe/Berlin or America/New_York.",
        default="UTC",
        examples=["Europe/Berlin"],
    ),
]
DstGapField = Annotated[
    Literal["after", "before", "skip"],
    about(
        "When a time of `cronExpr` is due that a change of the clocks leaves out: right after the "
        "gap, in the last minute before it, or not at all. Null: `after` for a fixed time; an "
        "expression whose minute or hour begins with `*` follows the clock.",
        "'after', 'before', 'skip' or null",
        examples=["after"],
    ),
]
DstOverlapField = Annotated[
    Literal["first", "second", "both"],
    about(
        "When a time of `cronExpr` is due that a change of the clocks brings twice. Null: `first` "
        "for a fixed time, `both` for an expression whose minute or hour begins with `*`.",
        "'first', 'second', 'both' or null",
        examples=["first"],
    ),
]
Timeout = Annotated[
    float | str,
    about(
        "How long an attempt may take: more than 0, at most 24 hours.",
        _DURATION,
        default=60,
        examples=[1.5, "PT5M"],
    ),
]
Retries = Annotated[
    int,
    about(
        "Extra attempts after the first. 3.0 counts as 3. With at_most_once always 0.",
        "a whole number from 0 to 100",
        ge=0,
        le=100,
        default=3,
    ),
]
Initial = Annotated[
    float | str,
    about("The wait after the first failed attempt, at most 30 days.", _DURATION, default=1),
]
Factor = Annotated[
    float,
    about(
        "What the wait is multiplied by after each further one.",
        "a number from 1 to 10",
        ge=1,
        le=10,
        default=2,
    ),
]
WaitMax = Annotated[
    float | str,
    about("The longest wait, at most 30 days.", _DURATION, default=3600),
]
Queue = Annotated[
    str,
    about(
        "The stream of runs that workers subscribe to.",
        "a word of 1 to 100 letters, digits or _ . : / = @ + -, beginning with a letter or digit",
        min_length=1,
        max_length=100,
        pattern=_WORD,
        default="default",
    ),
]
Priority = Annotated[
    int,
    about(
        "9 goes first, 0 last. 5.0 counts as 5.",
        "a whole number from 0 to 9",
        ge=0,
        le=9,
        default=5,
    ),
]
Guarantee = Annotated[
    Literal["at_least_once", "at_most_once", "exactly_once"],
    about(
        "What is promised about each run: that it reaches an end; that it is never started twice, "
        "then one whose outcome is unknown ends as lost; or that what a Python function writes "
        "through `ctx.transaction()` is committed once, together with the end of the run.",
        "'at_least_once', 'at_most_once' or 'exactly_once'",
        default="at_least_once",
    ),
]
CatchUpField = Annotated[
    Literal["latest", "all", "none"],
    about(
        "Which occurrences older than `catchUpWindow` still run.",
        "'latest', 'all' or 'none'",
        default="latest",
    ),
]
CatchUpWindow = Annotated[
    float | str,
    about("An occurrence younger than this is late, never missed.", _DURATION, default=60),
]
Overlap = Annotated[
    Literal["allow"],
    about(
        "Whether runs of one job may overlap.",
        "'allow'",
        default="allow",
        later="Leave it out or use 'allow'.",
    ),
]
NoticeUrl = Annotated[
    str,
    about(
        "Where the notice of a failed run goes, as an HTTP POST. 2xx means that it was received.",
        f"an absolute http or https URL of at most {URL_MAX} characters",
        hint="Write it like 'https://example.com/hooks/failed'.",
        min_length=1,
        max_length=URL_MAX,
        examples=["https://example.com/hooks/failed"],
    ),
]
Tag = Annotated[str, Meta(min_length=1, max_length=50, extra_json_schema={"pattern": f"^{_WORD}$"})]
Tags = Annotated[
    list[Tag],
    about(
        f"At most {TAGS_MAX} words to find the job by. Repeated ones count once.",
        f"at most {TAGS_MAX} words, each of 1 to 50 letters, digits or _ . : / = @ + -",
        max_length=TAGS_MAX,
        pattern=_WORD,
        of_elements=True,
        examples=[["billing", "nightly"]],
    ),
]
Paused = Annotated[
    bool,
    about(
        "While true, occurrences are skipped. A trigger still works.",
        "true or false",
        default=False,
    ),
]
Version = Annotated[
    int,
    about(
        "The version you have seen: the edit is refused (409) if there is a newer one.",
        "a whole number from 1",
        ge=1,
        le=2**63 - 1,
    ),
]
