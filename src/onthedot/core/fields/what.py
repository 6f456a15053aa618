"""What a job is and calls."""

from __future__ import annotations

from typing import Any, Final, Literal

from onthedot.core.fields.declaring import Field, Kind, Where

LABEL_MAX: Final = 200
TAGS_MAX: Final = 20
URL_MAX: Final = 2048

_LABEL: Final = r"[^\x00-\x1f\x7f-\x9f]*"
WORD: Final = r"[A-Za-z0-9][A-Za-z0-9_.:/=@+-]*"
_LABEL_LIMITS: Final = {"min_length": 1, "max_length": LABEL_MAX}
_A_LABEL: Final = f"text of 1 to {LABEL_MAX} characters without control characters"
_WORD_SAYS: Final = "letters, digits or _ . : / = @ + -, beginning with a letter or digit"
_BY_HAND: Final = Where.CREATE | Where.EDIT

URL_SAYS: Final = f"an absolute http or https URL of at most {URL_MAX} characters"
URL_LIMITS: Final = {"min_length": 1, "max_length": URL_MAX}

WHAT: Final = (
    Field(name="job_id", about="The id of the job.", where=Where.NOWHERE),
    Field(
        name="name",
        about="A label for people. It need not be unique; 1 to 200 characters.",
        at="name",
        where=_BY_HAND,
        required=True,
        limits=_LABEL_LIMITS,
        pattern=_LABEL,
        says=_A_LABEL,
        examples=("nightly report",),
    ),
    Field(
        name="handler_url",
        about="Where to POST the payload when the job is due. 2xx is success. Http or https, at "
        "most 2048 characters, without credentials.",
        where=_BY_HAND,
        nullable=True,
        limits=URL_LIMITS,
        says=URL_SAYS,
        hint="Write it like 'https://example.com/hooks/report'.",
        examples=("https://example.com/hooks/report",),
        option="--url",
    ),
    Field(
        name="handler",
        about="The name of a Python function to call instead of a URL. Workers that have it "
        "call it.",
        where=_BY_HAND,
        nullable=True,
        limits={"min_length": 1, "max_length": 200},
        pattern=WORD,
        says=f"a name of 1 to 200 {_WORD_SAYS}",
        hint="Functions are declared with @app.job and run by `onthedot serve --app module:app`.",
        examples=("shop.billing.charge",),
        see="python.md",
    ),
    Field(
        name="key",
        about="Your own id for the job, unique within its namespace.",
        at="key",
        where=_BY_HAND,
        nullable=True,
        limits=_LABEL_LIMITS,
        pattern=_LABEL,
        says=f"{_A_LABEL}, or null",
        examples=("billing/nightly-report",),
    ),
    Field(
        name="owner",
        about="Whom to ask about the job.",
        at="owner",
        nullable=True,
        limits=_LABEL_LIMITS,
        pattern=_LABEL,
        says=f"{_A_LABEL}, or null",
        examples=("team-billing",),
    ),
    Field(
        name="namespace",
        type=Literal["default"],
        about="The namespace of the job. Only `default` for now.",
        at="namespace",
        later="Leave it out or use 'default'.",
    ),
    Field(
        name="payload",
        type=Any,
        about="Any JSON value of at most 64 KB, sent to the handler. Without one, `{}` is sent.",
        kind=Kind.JSON,
        at="payload",
        where=Where.JOB | Where.TRIGGER,
        says="a JSON value",
        examples=({"report": "nightly"},),
    ),
    Field(
        name="tags",
        about=f"At most {TAGS_MAX} words to find the job by. Repeated ones count once; each has "
        "at most 50 characters.",
        kind=Kind.WORDS,
        at="tags",
        limits={"max_length": TAGS_MAX},
        pattern=WORD,
        says=f"at most {TAGS_MAX} words, each of 1 to 50 letters, digits or _ . : / = @ + -",
        examples=(["billing", "nightly"],),
        option="--tag",
    ),
)
