"""Everything wrong that can be said about a job: which field is named, and what the hint says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from onthedot.core.instants import parse_instant
from onthedot.errors import (
    Invalid,
    InvalidCron,
    InvalidDuration,
    InvalidInstant,
    InvalidSchedule,
    InvalidTimezone,
    NeverFires,
    NotAvailableYet,
    RebootUnsupported,
)
from onthedot.wire import (
    JobIn,
    Malformed,
    TriggerIn,
    definition_of,
    read,
    trigger_due,
    trigger_payload,
)

NOW = parse_instant("2026-03-01T00:00:00Z", field="NOW")
JOB = {"name": "report", "handlerUrl": "https://example.com/hook"}


def refusal(body: bytes) -> Invalid:
    with pytest.raises(Invalid) as refused:
        definition_of(read(body, JobIn), now=NOW)
    return refused.value


def triggered(body: bytes) -> tuple[int, str | None]:
    trigger = read(body, TriggerIn)
    return trigger_due(trigger, now=NOW), trigger_payload(trigger)


@pytest.mark.parametrize(
    ("said", "kind", "field", "detail"),
    [
        # schedules
        ({"cronExpr": "75 * * * *"}, InvalidCron, "cronExpr", "out of range"),
        ({"cronExpr": ""}, InvalidCron, "cronExpr", "empty"),
        ({"cronExpr": "0 0 30 2 *"}, NeverFires, "cronExpr", "never"),
        ({"cronExpr": 5}, Invalid, "cronExpr", "not the number 5"),
        ({"schedule": "75 * * * *"}, InvalidCron, "schedule", "out of range"),
        ({"schedule": "0 0 30 2 *"}, NeverFires, "schedule", "never"),
        ({"schedule": "whenever"}, InvalidSchedule, "schedule", "not understood"),
        ({"cronExpr": "@reboot"}, RebootUnsupported, "cronExpr", "no schedule for a job"),
        ({"schedule": "@reboot"}, RebootUnsupported, "schedule", "no schedule for a job"),
        ({"cronExpr": "@every 5 apples"}, InvalidCron, "cronExpr", "not an interval"),
        ({"cronExpr": "@every 1ms"}, InvalidDuration, "cronExpr", "shorter"),
        ({"cronExpr": "0 0 0 1 1 * 2020"}, NeverFires, "cronExpr", "no instant from now"),
        ({"cronExpr": "0 0 * * *", "dstGap": "later"}, Invalid, "dstGap", "'skip' or null"),
        ({"cronExpr": "0 0 * * *", "dstOverlap": 1}, Invalid, "dstOverlap", "'both' or null"),
        ({"every": 60, "dstGap": "skip"}, Invalid, "dstGap", "a rule for times on a clock"),
        ({"dstOverlap": "both"}, Invalid, "dstOverlap", "a rule for times on a clock"),
        ({"every": 0.5}, InvalidDuration, "every", "shorter"),
        ({"every": -5}, InvalidDuration, "every", "negative"),
        ({"every": "5 minutes"}, InvalidDuration, "every", "not a duration"),
        ({"every": True}, Invalid, "every", "not the boolean true"),
        ({"runAt": "tomorrow"}, InvalidInstant, "runAt", "RFC 3339"),
        ({"runAt": "2200-01-01T00:00:00Z"}, InvalidInstant, "runAt", "2199"),
        ({"runAt": 1700000000}, Invalid, "runAt", "not the number"),
        ({"delay": -1}, InvalidDuration, "delay", "negative"),
        ({"delay": 1e300}, InvalidDuration, "delay", "100 years"),
        ({"cronExpr": "* * * * *", "every": 5}, Invalid, "every", "cronExpr and every"),
        ({"runAt": "2027-01-01T00:00:00Z", "delay": 5}, Invalid, "delay", "runAt and delay"),
        ({"timezone": "Mars/Olympus"}, InvalidTimezone, "timezone", "not a known"),
        ({"timezone": 1}, Invalid, "timezone", "not the number 1"),
        # where it goes
        ({"handlerUrl": "ftp://example.com"}, Invalid, "handlerUrl", "http or https"),
        ({"handlerUrl": "example.com/hook"}, Invalid, "handlerUrl", "http or https"),
        ({"handlerUrl": "http:/example.com"}, Invalid, "handlerUrl", "http or https"),
        ({"handlerUrl": "http:///hook"}, Invalid, "handlerUrl", "no host"),
        ({"handlerUrl": "http://exa mple.com"}, Invalid, "handlerUrl", "contains ' '"),
        ({"handlerUrl": "http://a\nb/"}, Invalid, "handlerUrl", "contains"),
        ({"handlerUrl": "http://a\\@b/"}, Invalid, "handlerUrl", "contains"),
        ({"handlerUrl": "http://me:secret@example.com"}, Invalid, "handlerUrl", "password"),
        ({"handlerUrl": "http://example.com:0/"}, Invalid, "handlerUrl", "port 0"),
        ({"handlerUrl": "http://example.com:70000/"}, Invalid, "handlerUrl", "not a URL"),
        ({"handlerUrl": "http://[::zz]/"}, Invalid, "handlerUrl", "not a URL"),
        ({"handlerUrl": "http://a..b/"}, Invalid, "handlerUrl", "name server"),
        ({"handlerUrl": "http://x/" + "y" * 2048}, Invalid, "handlerUrl", "2048"),
        ({"handlerUrl": None}, Invalid, "handlerUrl", "missing"),
        ({"handler": "reports.nightly"}, Invalid, "handler", "both given"),
        ({"handlerUrl": None, "handler": "two words"}, Invalid, "handler", "a name of"),
        # labels
        ({"name": ""}, Invalid, "name", "1 to 200"),
        ({"name": "   "}, Invalid, "name", "empty"),
        ({"name": "x" * 201}, Invalid, "name", "201 characters"),
        ({"name": "a\0b"}, Invalid, "name", "control characters"),
        ({"name": "two\nlines"}, Invalid, "name", "control characters"),
        ({"name": ["report"]}, Invalid, "name", "not an array"),
        ({"key": ""}, Invalid, "key", "1 to 200"),
        ({"key": "line break\n"}, Invalid, "key", "control characters"),
        ({"owner": 7}, Invalid, "owner", "not the number 7"),
        ({"queue": "two words"}, Invalid, "queue", "word"),
        ({"queue": "default\n"}, Invalid, "queue", "word"),
        ({"queue": "q" * 101}, Invalid, "queue", "100"),
        ({"tags": "billing"}, Invalid, "tags", "not the text 'billing'"),
        ({"tags": ["billing", "two words"]}, Invalid, "tags", "'two words'"),
        ({"tags": ["billing", 5]}, Invalid, "tags", "the number 5"),
        ({"tags": ["x"] * 21}, Invalid, "tags", "at most 20"),
        ({"tags": ["x" * 51]}, Invalid, "tags", "50"),
        # policies
        ({"timeout": 0}, Invalid, "timeout", "more than 0"),
        ({"timeout": -1}, InvalidDuration, "timeout", "negative"),
        ({"timeout": "PT25H"}, Invalid, "timeout", "24 hours"),
        ({"timeout": None}, Invalid, "timeout", "not null"),
        ({"retries": -1}, Invalid, "retries", "0 to 100"),
        ({"retries": 101}, Invalid, "retries", "0 to 100"),
        ({"retries": 2.5}, Invalid, "retries", "not the number 2.5"),
        ({"retries": "3"}, Invalid, "retries", "not the text '3'"),
        ({"retries": True}, Invalid, "retries", "not the boolean true"),
        ({"priority": 10}, Invalid, "priority", "0 to 9"),
        ({"backoff": 5}, Invalid, "backoff", "not the number 5"),
        ({"backoff": {"initial": -1}}, InvalidDuration, "backoff.initial", "negative"),
        ({"backoff": {"factor": 0.5}}, Invalid, "backoff.factor", "1 to 10"),
        ({"backoff": {"max": "P31D"}}, Invalid, "backoff.max", "30 days"),
        ({"backoff": {"initial": 10, "max": 5}}, Invalid, "backoff.max", "less than"),
        ({"backoff": {"maximum": 5}}, Invalid, "backoff.maximum", "not a known field"),
        ({"guarantee": "exactly_once"}, Invalid, "guarantee", "for Python functions"),
        ({"guarantee": "twice"}, Invalid, "guarantee", "'exactly_once'"),
        ({"overlap": "skip"}, NotAvailableYet, "overlap", "not available yet"),
        ({"namespace": "billing"}, NotAvailableYet, "namespace", "not available yet"),
        ({"guarantee": "at_most_once", "retries": 1}, Invalid, "retries", "allows one start"),
        ({"guarantee": 1}, Invalid, "guarantee", "not the number 1"),
        ({"catchUp": "some"}, Invalid, "catchUp", "'latest', 'all' or 'none'"),
        ({"catchUpWindow": -1}, InvalidDuration, "catchUpWindow", "negative"),
        ({"paused": "yes"}, Invalid, "paused", "true or false"),
        ({"paused": 1}, Invalid, "paused", "true or false"),
        # unknown
        ({"jobId": "job-1"}, Invalid, "jobId", "set by the server"),
        ({"colour": "red"}, Invalid, "colour", "not a known field"),
    ],
)
def test_a_wrong_field_is_named_with_a_next_step(
    said: dict[str, Any], kind: type[Invalid], field: str, detail: str
):
    error = refusal(json.dumps({**JOB, **said}).encode())

    assert type(error) is kind
    assert error.field == field
    assert detail in error.message
    assert error.hint


@pytest.mark.parametrize(
    ("field", "hint"),
    [
        ("timeOut", "Did you mean timeout?"),
        ("handler_url", "Did you mean handlerUrl?"),
        ("cron", "Did you mean cronExpr?"),
        ("retrys", "Did you mean retries?"),
    ],
)
def test_an_unknown_field_is_met_with_the_nearest_known_one(field: str, hint: str):
    error = refusal(json.dumps({**JOB, field: "x"}).encode())

    assert (error.field, error.hint) == (field, hint)


@pytest.mark.parametrize("missing", ["name", "handlerUrl"])
def test_a_missing_field_is_named(missing: str):
    said = {name: value for name, value in JOB.items() if name != missing}

    error = refusal(json.dumps(said).encode())

    assert (error.field, error.message) == (missing, f"{missing} is missing")


@pytest.mark.parametrize("number", ["1e999", "-1e999", "9" * 400, "1" * 5_000 + ".5"])
@pytest.mark.parametrize(
    "said",
    [
        '"retries": {}',
        '"timeout": {}',
        '"tags": [{}]',
        '"tags": ["a", [{}]]',
        '"backoff": {{"factor": {}}}',
        '"backoff": {{"initial": {}}}',
        '"name": {}',
        '"paused": {}',
        '"catchUp": {}',
        '"runAt": {}',
    ],
)
def test_a_number_beyond_all_bounds_is_refused(said: str, number: str):
    body = '{"handlerUrl": "http://x/", ' + said.format(number) + "}"

    error = refusal(body.encode())

    assert error.field is not None
    assert len(error.message) < 300


def test_a_password_in_a_url_is_not_repeated():
    error = refusal(json.dumps({**JOB, "handlerUrl": "http://me:secret@example.com"}).encode())

    assert "secret" not in error.message + error.hint


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"nonsense",
        b"[]",
        b'"text"',
        b'"text" and more',
        b"truthy",
        b"[1] [2]",
        b"1 2",
        b"17",
        b"null",
        b'{"name": "a",}',
        b"{'name': 'a'}",
        b'{"payload": NaN}',
        b'{"timeout": Infinity}',
        b'{"name": "\xff"}',
        b'{"name": "a"} {}',
        b'{"name": "a\x00"}',
        b"[" * 200_000,
        b'{"payload":' * 101 + b"1" + b"}" * 101,
    ],
)
def test_a_body_that_is_no_json_object_is_malformed(body: bytes):
    error = refusal(body)

    assert isinstance(error, Malformed)
    assert error.hint


@pytest.mark.parametrize(
    "body",
    [
        b'{"name": "' + b'\\"' * 120_000,
        b'"' * 250_000,
        b'{"name": "' + b"\\" * 250_001,
        b'{"a' + b'": "' * 60_000,
        b"[]" * 125_000,
    ],
)
def test_a_body_made_to_waste_time_is_refused_at_once(body: bytes):
    # Each took minutes or was harmless; the timeout of a test is the limit here.
    assert isinstance(refusal(body), Malformed)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (rb'{"name": "\ud800", "handlerUrl": "http://x/"}', "name"),
        (rb'{"name": "x", "handlerUrl": "http://x/", "payload": ["\udfff"]}', "payload"),
        (rb'{"\ud800": 1}', None),
    ],
)
def test_half_a_character_is_refused_where_it_stands(body: bytes, field: str | None):
    error = refusal(body)

    assert not isinstance(error, Malformed)
    assert error.field == field
    assert "surrogate" in error.message


@pytest.mark.parametrize(
    "payload", ['"' + "x" * 65_535 + '"', "1e999", "9" * 5_000, '"' + "é" * 32_768 + '"']
)
def test_a_payload_that_cannot_be_kept_is_refused(payload: str):
    error = refusal(f'{{"name": "x", "handlerUrl": "http://x/", "payload": {payload}}}'.encode())

    assert error.field == "payload"
    assert error.hint


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"runAt": "2027-01-01T00:00:00Z", "delay": 5}, "delay"),
        ({"runAt": "soon"}, "runAt"),
        ({"delay": -5}, "delay"),
        ({"payload": "x" * 70_000}, "payload"),
        ({"when": 5}, "when"),
    ],
)
def test_a_wrong_trigger_is_refused(said: dict[str, Any], field: str):
    with pytest.raises(Invalid) as refused:
        triggered(json.dumps(said).encode())

    assert refused.value.field == field
