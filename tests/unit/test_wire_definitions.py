"""From a request to a definition, and from a job to what is answered."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onthedot.core.editing import create
from onthedot.core.instants import DAY, HOUR, MINUTE, SECOND, parse_instant
from onthedot.core.model import Backoff, Definition, Once
from onthedot.core.schedules import Cron, Every
from onthedot.errors import Invalid
from onthedot.wire import (
    JobIn,
    JobPatch,
    TriggerIn,
    definition_of,
    job_out,
    patched,
    read,
    trigger_due,
    trigger_payload,
)
from onthedot.wire.reading import SET_BY_SERVER

NOW = parse_instant("2026-03-01T00:00:00Z", field="NOW")
JOB = {"name": "report", "handlerUrl": "https://example.com/hook"}


def defined(**said: Any) -> Definition:
    return definition_of(read(json.dumps({**JOB, **said}).encode(), JobIn), now=NOW)


def after_patch(definition: Definition, **said: Any) -> Definition:
    return patched(definition, read(json.dumps(said).encode(), JobPatch), now=NOW)


def shown(definition: Definition) -> dict[str, Any]:
    job = create(7, definition, now=NOW).job
    assert job is not None
    answer: dict[str, Any] = json.loads(msgspec.json.encode(job_out(job, "job-7", now=NOW)))
    return answer


def test_what_is_not_said_has_the_documented_default():
    definition = defined()

    assert definition == Definition(name="report", handler_url="https://example.com/hook")
    assert (definition.timeout_us, definition.retries, definition.priority) == (60 * SECOND, 3, 5)
    assert definition.backoff == Backoff(initial_us=SECOND, factor=2.0, max_us=HOUR)


def test_what_may_start_once_has_no_retries_unless_an_edit_leaves_it_some():
    once = defined(guarantee="at_most_once")
    often = defined()

    assert (once.guarantee, once.retries) == ("at_most_once", 0)
    assert after_patch(often, guarantee="at_most_once", retries=0).retries == 0
    with pytest.raises(Invalid, match="retries is 3, and guarantee at_most_once"):
        after_patch(often, guarantee="at_most_once")
    with pytest.raises(Invalid, match="retries is 1"):
        after_patch(once, retries=1)


@pytest.mark.parametrize(
    ("said", "schedule"),
    [
        ({}, None),
        ({"cronExpr": "*/5 * * * *"}, Cron("*/5 * * * *", "UTC")),
        ({"cronExpr": "@daily", "timezone": "Europe/Berlin"}, Cron("0 0 * * *", "Europe/Berlin")),
        ({"schedule": "0 9 * * *"}, Cron("0 9 * * *", "UTC")),
        ({"every": 90}, Every(90 * SECOND)),
        ({"every": "PT5M"}, Every(5 * MINUTE)),
        ({"every": 1.5, "cronExpr": None, "runAt": None}, Every(SECOND * 3 // 2)),
        (
            {"runAt": "2027-01-01T01:00:00+01:00"},
            Once(parse_instant("2027-01-01T00:00:00Z", field="")),
        ),
        ({"runAt": "1999-01-01T00:00:00Z"}, Once(parse_instant("1999-01-01T00:00:00Z", field=""))),
        ({"delay": 30}, Once(NOW + 30 * SECOND)),
        ({"delay": 0}, Once(NOW)),
    ],
)
def test_each_way_to_say_when_is_understood(said: dict[str, Any], schedule: Any):
    assert defined(**said).schedule == schedule


def test_a_whole_number_may_be_written_with_a_point():
    body = b'{"name": "x", "handlerUrl": "http://x/", "retries": 3.0, "priority": 9e0}'

    definition = definition_of(read(body, JobIn), now=NOW)

    assert (definition.retries, definition.priority) == (3, 9)


@pytest.mark.parametrize(
    ("payload", "kept"),
    [
        (b'{"b": 1,\n "a": [1, 2]}', '{"b":1,"a":[1,2]}'),
        (b"12345678901234567890.10", "12345678901234567890.10"),
        (b"null", "null"),
        ('" x: é "'.encode(), '" x: é "'),
        (rb'"\u0000"', r'"\u0000"'),
    ],
)
def test_a_payload_is_kept_as_it_was_but_for_spaces(payload: bytes, kept: str):
    body = b'{"name": "x", "handlerUrl": "http://x/", "payload": ' + payload + b"}"

    assert definition_of(read(body, JobIn), now=NOW).payload == kept


def test_a_payload_of_exactly_64_kb_is_taken():
    text = "x" * (64 * 1024 - 2)

    assert defined(payload=text).payload == f'"{text}"'


def test_a_byte_order_mark_is_no_reason_to_refuse():
    body = b"\xef\xbb\xbf" + json.dumps(JOB).encode()

    assert definition_of(read(body, JobIn), now=NOW).name == "report"


def test_a_long_first_wait_raises_the_longest_unless_that_is_given():
    assert defined(backoff={"initial": "PT2H"}).backoff.max_us == 2 * HOUR
    assert defined(backoff={"initial": 1, "factor": 1, "max": 1}).backoff == Backoff(
        initial_us=SECOND, factor=1.0, max_us=SECOND
    )


def test_repeated_tags_count_once():
    assert defined(tags=["b", "a", "b"]).tags == ("b", "a")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9000/",
        "https://[::1]:8443/hook?a=b",
        "HTTP://Example.COM",
        "http://bücher.example/é",
        "http://under_score.internal/",
    ],
)
def test_an_ordinary_url_is_taken_as_it_is(url: str):
    assert defined(handlerUrl=url).handler_url == url


def test_a_patch_leaves_alone_what_it_does_not_name():
    before = defined(cronExpr="0 9 * * *", timezone="Europe/Berlin", key="k", retries=7)

    assert after_patch(before) == before
    assert after_patch(before, name="other") == defined(
        name="other", cronExpr="0 9 * * *", timezone="Europe/Berlin", key="k", retries=7
    )


def test_a_patched_schedule_replaces_the_one_there_was():
    before = defined(cronExpr="0 9 * * *")

    assert after_patch(before, every=5).schedule == Every(5 * SECOND)
    assert after_patch(before, delay=5).schedule == Once(NOW + 5 * SECOND)


def test_null_takes_the_schedule_away_only_in_the_field_that_shows_it():
    before = defined(every=60)

    assert after_patch(before, every=None).schedule is None
    assert after_patch(before, cronExpr=None, runAt=None).schedule == Every(60 * SECOND)


def test_a_patched_time_zone_moves_the_cron_expression_with_it():
    before = defined(cronExpr="0 9 * * *")

    assert after_patch(before, timezone="Asia/Tokyo").schedule == Cron("0 9 * * *", "Asia/Tokyo")


def test_a_patched_backoff_keeps_its_other_members():
    before = defined(backoff={"initial": 5, "factor": 3, "max": 50})

    assert after_patch(before, backoff={"factor": 4}).backoff == Backoff(
        initial_us=5 * SECOND, factor=4.0, max_us=50 * SECOND
    )


def test_a_patch_can_take_key_and_owner_away():
    before = defined(key="k", owner="me")

    after = after_patch(before, key=None, owner=None)

    assert (after.key, after.owner) == (None, None)


def test_a_job_answers_with_every_field_of_the_contract():
    answer = shown(defined(cronExpr="0 9 * * *", timeout=1.5, backoff={"max": "PT1M"}))

    assert answer.keys() == {
        *("jobId", "key", "name", "namespace", "owner", "handlerUrl", "handler", "payload"),
        *("cronExpr", "every", "runAt", "delay", "schedule", "timezone", "dstGap", "dstOverlap"),
        *("sentence", "normalised", "timeout", "retries"),
        *("backoff", "queue", "priority", "guarantee", "catchUp", "catchUpWindow", "overlap"),
        *("tags", "paused", "onFailure", "version", "nextRunAt", "createdAt", "updatedAt"),
        *("startAt", "endAt", "maxRuns", "jitter", "spread", "nextStartAt", "lastRunAt"),
        *("catchUpMaxAge", "catchUpMax", "catchUpRate", "fixedDelay"),
        *("calendar", "calendarRoll", "calendarVersion"),
    }
    assert answer["nextRunAt"] == "2026-03-01T09:00:00Z"
    assert answer["createdAt"] == "2026-03-01T00:00:00Z"
    assert answer["timeout"] == 1.5
    assert answer["backoff"] == {"initial": 1, "factor": 2.0, "max": 60}
    assert answer["payload"] == {}


def test_a_delay_is_answered_as_the_instant_it_means():
    answer = shown(defined(delay="P1D"))

    assert (answer["runAt"], answer["delay"]) == ("2026-03-02T00:00:00Z", None)
    assert answer["nextRunAt"] == "2026-03-02T00:00:00Z"


@pytest.mark.parametrize(
    "schedule",
    [{"every": 5}, {"schedule": "0 9 * * *"}, {"schedule": "P1M"}, {"delay": 5}, {}],
    ids=str,
)
def test_what_was_answered_can_be_sent_back_without_a_change(schedule):
    definition = defined(**schedule, payload={"a": 1}, tags=["x"], timeout="PT1M", key="k")
    answer = shown(definition)
    for name in SET_BY_SERVER:
        del answer[name]

    assert definition_of(read(json.dumps(answer).encode(), JobIn), now=NOW) == definition
    assert after_patch(definition, **answer) == definition


def test_a_trigger_is_due_when_it_says_or_now():
    assert trigger_due(read(b"", TriggerIn), now=NOW) == NOW
    assert trigger_due(read(b'{"delay": "P1D"}', TriggerIn), now=NOW) == NOW + DAY
    assert (
        trigger_due(read(b'{"runAt": "2026-03-01T00:01:00Z"}', TriggerIn), now=NOW) == NOW + MINUTE
    )


def test_a_trigger_tells_no_payload_from_a_payload_of_null():
    assert trigger_payload(read(b"{}", TriggerIn)) is None
    assert trigger_payload(read(b'{"payload": null}', TriggerIn)) == "null"


# Whatever is sent, the answer is a definition or one of our own errors.

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(["* * * * *", "PT5M", "UTC", "2027-01-01T00:00:00Z", "http://x/", "all"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
FIELDS = st.sampled_from([f.encode_name for f in msgspec.structs.fields(JobPatch)])


def outcome(body: bytes, *, edit: bool) -> Definition | Invalid:
    try:
        if edit:
            return patched(defined(every=5), read(body, JobPatch), now=NOW)
        return definition_of(read(body, JobIn), now=NOW)
    except Invalid as refused:
        return refused


def check_is_answered(body: bytes) -> None:
    for edit in (False, True):
        found = outcome(body, edit=edit)
        if isinstance(found, Definition):
            json.loads(found.payload)
        else:
            assert found.message
            assert found.hint
            assert (found.message + found.hint + (found.field or "")).encode()


@settings(deadline=None)
@given(st.dictionaries(FIELDS, VALUES))
def test_any_values_make_a_definition_or_a_refusal(said: dict[str, Any]):
    check_is_answered(json.dumps({**JOB, **said}).encode())


@settings(deadline=None)
@given(st.dictionaries(st.text(), VALUES))
def test_any_fields_make_a_definition_or_a_refusal(said: dict[str, Any]):
    check_is_answered(json.dumps(said).encode())


@settings(deadline=None)
@given(st.binary())
def test_any_bytes_make_a_definition_or_a_refusal(body: bytes):
    check_is_answered(body)


@settings(deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_any_url_makes_a_definition_or_a_refusal(url: str):
    check_is_answered(json.dumps({**JOB, "handlerUrl": "http://" + url}).encode())


def test_who_is_told_of_failures_is_set_shown_kept_and_taken_away():
    told = defined(onFailure={"url": "https://example.com/pager"})

    assert told.on_failure_url == "https://example.com/pager"
    assert shown(told)["onFailure"] == {"url": "https://example.com/pager"}
    assert after_patch(told, retries=1).on_failure_url == "https://example.com/pager"
    assert after_patch(told, onFailure=None).on_failure_url == ""
    assert shown(defined())["onFailure"] is None


@pytest.mark.parametrize(
    ("said", "field", "why"),
    [
        ("https://x/", "onFailure", "must be an object such as"),
        ({}, "onFailure.url", "is missing"),
        ({"url": None}, "onFailure.url", "must be an absolute http or https URL"),
        ({"url": "ftp://x/"}, "onFailure.url", "is not an absolute http or https URL"),
        ({"url": "http://me:pw@x/"}, "onFailure.url", "has a user name or password in it"),
        ({"url": "https://x/", "secret": "s"}, "onFailure.secret", "is not a known field"),
    ],
)
def test_a_wrong_receiver_of_failures_is_refused_by_its_field(said, field, why):
    with pytest.raises(Invalid, match=why) as caught:
        defined(onFailure=said)

    assert caught.value.field == field
