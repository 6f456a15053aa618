"""Requests that ask for as much work as the API takes: every route, with the most expensive values
that are accepted, and with what is refused only after a look. Those of `KNOWN_BAD` once stopped the
event loop for seconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

FIRST = date(2026, 12, 1)
JOB = {"name": "asked for much", "handlerUrl": "http://127.0.0.1:9/"}
FAR = "2190-01-01T00:00:00Z"
CRONS = ("0 * * * *", "0 9 * * *", "0,20,40 9 * * *", "0 0 29 2 *")
ROLLS = ("skip", "next", "previous")
KNOWN_BAD = (
    "preview c336 previous 0 * * * *",
    "preview feb29 next 0 * * * *",
    "preview mixed next 0 9 * * *",
    "preview holidays previous 0 * * * *",
    "dry run of a calendar with many jobs",
    "calendar of a thousand spans",
    "job nested without end",
    "job with maxRuns under a calendar",
    "page of a thousand jobs",
    "audit of everything",
)


@dataclass(frozen=True, slots=True)
class Ask:
    """`{job}` and `{calm}` in the path stand for the ids of jobs."""

    name: str
    method: str
    path: str
    body: Any = None


def dates(count: int, *, step: int = 1, first: date = FIRST) -> list[str]:
    return [str(first + timedelta(days=k * step)) for k in range(count)]


def slots(minutes: int, *, shift: int = 0) -> list[str]:
    """Two parts of every hour."""
    return [
        f"{hour:02}:{begin + shift:02}-{hour:02}:{begin + shift + minutes:02}"
        for hour in range(24)
        for begin in (0, 30)
    ]


CALENDARS: dict[str, dict[str, list[str]]] = {
    "c336": {"exclude": dates(336)},
    "alternate": {"exclude": dates(990, step=2)},
    "feb29": {"require": ["02-29"]},
    "holidays": {"exclude": ["sat,sun", "12-25", "12-26", "01-01", "05-01", "12-24/12-31"]},
    "mixed": {"require": slots(10), "exclude": slots(9)},
    "moments": {
        "exclude": [
            f"{day}T00:{k % 60:02}/{day}T23:{k % 60:02}" for k, day in enumerate(dates(490))
        ]
    },
    "months": {"exclude": [f"{m:02}-{d:02}" for m in range(1, 13) for d in range(1, 29)]},
}
TEXTS = (
    *("R/2000-01-31T00:00:00Z/P1M", "R10000/1970-01-01T00:00:00Z/P1D", "R/1970-01-01T02:30/P1D"),
    *("every 90 seconds", "on the last friday of every month at 9am, 10am and 11am"),
    *("x " * 128, "every " * 42, "every day at " + ", ".join(f"{h}:15" for h in range(24))),
)
LONG_CRONS = (
    *("* * * * *", "0 0 29 2 *", "0 0 29 2 +MON", "0 9 * * MON#5", "0 0 LW 2 *"),
    ",".join(map(str, range(60))) + " " + ",".join(map(str, range(24))) + " * * *",
    "1," * 100_000 + "1 * * * *",
)


def catalogue() -> list[Ask]:
    return [*_previews(), *_jobs(), *_bodies(), *_calendars(), *_reads()]


def _previews() -> Iterator[Ask]:
    path = "/v1/schedules/preview"
    for name in CALENDARS:
        for roll in ROLLS:
            told: dict[str, Any] = {"calendar": name, "calendarRoll": roll, "count": 1000}
            for cron in CRONS:
                asked = {"cronExpr": cron, "timezone": "Europe/Berlin", **told}
                yield Ask(f"preview {name} {roll} {cron}", "POST", path, asked)
            asked = {"cronExpr": "0 9 * * *", "maxRuns": 10_000, **told}
            yield Ask(f"preview {name} {roll} with maxRuns", "POST", path, asked)
    for cron in LONG_CRONS:
        asked = {
            "cronExpr": cron,
            "count": 1000,
            "maxRuns": 10_000,
            "timezone": "Africa/Casablanca",
        }
        yield Ask(f"preview {cron[:20]}", "POST", path, asked)
        yield Ask(f"preview {cron[:20]} from 2190", "POST", path, {**asked, "after": FAR})
    for text in TEXTS:
        asked = {"schedule": text, "count": 1000, "maxRuns": 10_000, "timezone": "Europe/Berlin"}
        yield Ask(f"preview {text[:30]}", "POST", path, asked)
    every = {"every": 1, "calendar": "mixed", "count": 1000}
    yield Ask("preview every second under a calendar", "POST", path, every)
    zone = {"cronExpr": "* * * * *", "timezone": "Evrope/Berlln" + "x" * 40}
    yield Ask("preview in a zone that is misspelt", "POST", path, zone)


def _jobs() -> Iterator[Ask]:
    for cron in LONG_CRONS:
        asked = {**JOB, "cronExpr": cron, "maxRuns": 10_000, "timezone": "Africa/Casablanca"}
        yield Ask(f"job {cron[:20]}", "POST", "/v1/jobs", {**asked, "startAt": FAR})
    for text in TEXTS:
        asked = {**JOB, "schedule": text, "maxRuns": 10_000, "startAt": FAR}
        yield Ask(f"job {text[:30]}", "POST", "/v1/jobs", asked)
    daily = {**JOB, "cronExpr": "0 9 * * *", "calendar": "holidays", "startAt": FAR}
    for roll in ROLLS:
        asked = {**daily, "calendarRoll": roll, "maxRuns": 1000}
        yield Ask(f"job with maxRuns under a calendar, {roll}", "POST", "/v1/jobs", asked)
    yield Ask("job with maxRuns under a calendar", "POST", "/v1/jobs", {**daily, "maxRuns": 10_000})
    many = {"runs": [{"delay": 86_400, "payload": {"k": k}} for k in range(1000)]}
    yield Ask("a thousand triggers", "POST", "/v1/jobs/{calm}/trigger-many", many)
    past = {"from": "2001-01-01T00:00:00Z", "until": "2026-01-01T00:00:00Z"}
    yield Ask("backfill of decades", "POST", "/v1/jobs/{job}/backfills", past)
    yield Ask("backfill of decades, dry", "POST", "/v1/jobs/{job}/backfills?dryRun=true", past)
    yield Ask("backfill of seconds", "POST", "/v1/jobs/{calm}/backfills", past)
    yield from _edits()
    yield Ask("pause", "PATCH", "/v1/jobs/{job}", {"paused": True})
    yield Ask("resume", "PATCH", "/v1/jobs/{job}", {"paused": False})


def _edits() -> Iterator[Ask]:
    """What an edit comes to is worked out on the event loop, before the store is asked."""
    dry = "/v1/jobs/{job}?dryRun=true"
    edit = {"cronExpr": "0 8 * * *", "maxRuns": 1000, "calendar": "months"}
    yield Ask("edit, dry", "PATCH", dry, edit)
    for name in CALENDARS:
        for roll in ROLLS:
            asked = {**edit, "calendar": name, "calendarRoll": roll, "maxRuns": 10_000}
            yield Ask(f"edit to {name} {roll}", "PATCH", dry, asked)
    for cron in LONG_CRONS:
        asked = {"cronExpr": cron, "maxRuns": 10_000, "timezone": "Africa/Casablanca"}
        yield Ask(f"edit to {cron[:20]}", "PATCH", dry, asked)
    for text in TEXTS:
        asked = {"cronExpr": None, "schedule": text, "maxRuns": 10_000, "calendar": None}
        yield Ask(f"edit to {text[:30]}", "PATCH", dry, asked)


def _bodies() -> Iterator[Ask]:
    start = json.dumps(JOB)[:-1].encode()
    whole = {
        "job nested without end": b"[" * 120_000 + b"]" * 120_000,
        "job nested and not closed": b"[" * 240_000,
        "job of flat brackets": b"[" + b"[]," * 80_000 + b"[]]",
        "job of quotes": b"[" + b"[]," * 200 + b'"' + b'a\\"' * 70_000 + b'"]',
        "job of halves of characters": b'["' + b"\\ud800" * 40_000 + b'"]',
        "job of one number": b"9" * 250_000,
    }
    for name, payload in whole.items():
        yield Ask(name, "POST", "/v1/jobs", start + b', "payload": ' + payload + b"}")
    fields: dict[str, Any] = {
        "tags": [f"t{k}" for k in range(20_000)],
        "name": "n" * 200_000,
        "timeout": "P" + "1D" * 50_000,
        "every": "1h" * 60_000,
        "handlerUrl": "http://" + "a." * 60_000 + "b/",
        "payload": {f"k{k}": k for k in range(16_000)},
        "key": "k" * 200_000,
    }
    for name, value in fields.items():
        yield Ask(f"job with a huge {name}", "POST", "/v1/jobs", {**JOB, name: value})
    unknown = {**JOB, **{f"field{k}": k for k in range(10_000)}}
    yield Ask("job with unknown fields", "POST", "/v1/jobs", unknown)
    yield Ask("job of the same field", "POST", "/v1/jobs", start + b', "name": "x"' * 15_000 + b"}")


def _calendars() -> Iterator[Ask]:
    spans = [f"{m:02}-{d:02}/{12 - m % 12:02}-{d:02}" for m in range(1, 13) for d in range(1, 29)]
    rules = {
        "calendar of a thousand spans": spans * 3,
        "calendar of twenty thousand rules": ["01-01"] * 20_000,
        "calendar of rules that are none": ["mon-frx"] * 1000,
        "calendar of one endless rule": ["mon-" * 50_000],
        "calendar of too many hours": [
            f"{h:02}:{m:02}-{h:02}:{m + 1:02}" for h in range(24) for m in range(0, 58, 2)
        ],
    }
    for name, exclude in rules.items():
        yield Ask(name, "PUT", "/v1/calendars/unused", {"exclude": exclude})
    changed = {"exclude": dates(330)}
    dry = "/v1/calendars/c336?dryRun=true"
    yield Ask("dry run of a calendar with many jobs", "PUT", dry, changed)
    yield Ask("change of a calendar with many jobs", "PUT", "/v1/calendars/c336", changed)


def _reads() -> Iterator[Ask]:
    asked = {
        "page of a thousand jobs": "/v1/jobs?limit=1000",
        "page of a thousand runs": "/v1/jobs/{calm}/runs?limit=1000",
        "page of calendars": "/v1/calendars?limit=1000",
        "page of letters": "/v1/dead-letters?limit=1000",
        "zones": "/v1/zones?limit=1000",
        "why": "/v1/jobs/{job}/why",
        "job": "/v1/jobs/{job}",
        "audit": "/v1/jobs/{job}/audit",
        "audit of everything": "/v1/audit",
        "overview": "/v1/overview",
        "nodes": "/v1/nodes",
        "metrics": "/metrics",
        "openapi": "/openapi.json",
        "front page": "/",
        "many parameters": "/v1/jobs?" + "&".join(f"a{k}=b" for k in range(2000)),
        "long cursor": "/v1/jobs?cursor=" + "A" * 20_000,
        "long path": "/v1/" + "x/" * 10_000,
    }
    for name, path in asked.items():
        yield Ask(name, "GET", path)
