"""Definitions and rules as text: read back as they were, and equal text for what is equal."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onthedot.core.instants import DAY, INSTANT_MAX, SECOND
from onthedot.core.model import Backoff, CatchUpLimits, Definition, Once, Rule
from onthedot.core.schedules import Cron, Every, Repeat, Step
from onthedot.core.shifting import Shift
from onthedot.core.states import Status, is_over
from onthedot.store.codec import (
    _UNSAID,
    RETRIED,
    STATUS_CODES,
    STATUS_OF_CODE,
    definition_from,
    definition_text,
    execution_spec_from,
    rule_from,
    rule_text,
)
from tests.support.builders import handling_of

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
recurring = st.one_of(
    st.builds(Every, st.integers(SECOND, 400 * DAY)),
    st.builds(
        Repeat,
        st.integers(0, INSTANT_MAX),
        st.sampled_from([Step(months=1), Step(days=7), Step(us=SECOND), Step(12, 1, SECOND)]),
        st.sampled_from(["UTC", "Europe/Berlin"]),
        st.sampled_from([None, "after", "before", "skip"]),
        st.sampled_from([None, "first", "second", "both"]),
        st.none() | st.integers(1, 999_999),
        after_start=st.booleans(),
    ),
    st.builds(
        Cron.parse,
        st.sampled_from(["* * * * *", "0 9 * * MON-FRI", "0 0 L * *", "@daily", "H H * * *"]),
        st.sampled_from(["UTC", "Europe/Berlin", "America/New_York"]),
        dst_gap=st.sampled_from([None, "after", "before", "skip"]),
        dst_overlap=st.sampled_from([None, "first", "second", "both"]),
        seed=st.just("default/a job"),
    ),
)
policies = st.sampled_from(["latest", "all", "none"])
definitions = st.builds(
    Definition,
    name=texts,
    handler_url=texts,
    schedule=st.one_of(st.none(), recurring, st.builds(Once, st.integers(0, INSTANT_MAX))),
    schedule_text=st.none() | texts,
    timezone=st.sampled_from(["UTC", "Europe/Berlin"]),
    payload=texts,
    key=st.none() | texts,
    namespace=texts,
    owner=st.none() | texts,
    timeout_us=st.integers(1, DAY),
    retries=st.integers(0, 100),
    backoff=st.builds(
        Backoff,
        initial_us=st.integers(0, 30 * DAY),
        factor=st.floats(1, 10),
        max_us=st.integers(0, 30 * DAY),
    ),
    queue=texts,
    priority=st.integers(0, 9),
    catch_up=policies,
    catch_up_window_us=st.integers(0, 36_525 * DAY),
    tags=st.lists(texts, max_size=3).map(tuple),
    paused=st.booleans(),
)
rules = st.builds(Rule, recurring, texts, st.integers(0, 9), policies, st.integers(0, DAY))


@settings(deadline=None)
@given(definition=definitions)
def test_a_definition_is_read_back_as_it_was(definition):
    assert definition_from(definition_text(definition), definition.payload) == definition


@settings(deadline=None)
@given(rule=rules)
def test_a_rule_is_read_back_as_it_was(rule):
    read = rule_from(rule_text(rule))

    assert read == rule
    assert type(read.schedule) is type(rule.schedule)


@settings(deadline=None)
@given(one=definitions, other=definitions)
def test_definitions_have_equal_text_exactly_when_they_are_equal(one, other):
    other = other._replace(payload=one.payload)

    assert (definition_text(one) == definition_text(other)) is (one == other)
    assert definition_text(one._replace()) == definition_text(one)


@settings(deadline=None)
@given(one=rules, other=rules)
def test_rules_have_equal_text_exactly_when_they_are_equal(one, other):
    assert (rule_text(one) == rule_text(other)) is (one == other)


@pytest.mark.parametrize(
    "change",
    [
        {"schedule": Every(2 * SECOND)},
        {"lane": "default|mail|"},
        {"traits": 2},
        {"priority": 6},
        {"catch_up": "all"},
        {"catch_up_window_us": 1},
    ],
)
def test_a_rule_that_differs_in_anything_has_another_text(change):
    rule = Rule(Every(SECOND), "default|default|", 0, 5, "latest", 60 * SECOND)

    assert rule_text(rule._replace(**change)) != rule_text(rule)


@settings(deadline=None)
@given(definition=definitions)
def test_the_payload_is_kept_apart_from_the_definition(definition):
    text = definition_text(definition)

    assert "payload" not in json.loads(text)
    assert definition_text(definition._replace(payload="something else")) == text


def test_every_field_of_a_definition_but_the_payload_is_kept():
    assert {"name", *_UNSAID} == {*Definition._fields} - {"payload"}


def test_what_a_text_leaves_unsaid_has_one_meaning_for_ever():
    assert (
        definition_text(Definition(name="n", handler_url="u")) == '{"name":"n","handler_url":"u"}'
    )
    read = definition_from('{"name":"n","handler_url":"u"}', "{}")

    assert read == Definition(
        name="n",
        handler_url="u",
        schedule=None,
        timezone="UTC",
        payload="{}",
        key=None,
        namespace="default",
        owner=None,
        timeout_us=60 * SECOND,
        retries=3,
        backoff=Backoff(initial_us=SECOND, factor=2.0, max_us=3_600 * SECOND),
        queue="default",
        priority=5,
        guarantee="at_least_once",
        catch_up="latest",
        catch_up_window_us=60 * SECOND,
        overlap="allow",
        tags=(),
        paused=False,
        on_failure_url="",
        start_at=None,
        end_at=None,
        max_runs=None,
        last_at=None,
        shift=Shift(spread_us=0, jitter_us=0),
        catching=CatchUpLimits(age_us=None, most=1_000, rate=50),
        calendar=None,
        calendar_roll="skip",
    )


@settings(deadline=None)
@given(definition=definitions)
def test_a_worker_reads_the_part_that_it_needs(definition):
    execution = execution_spec_from(definition_text(definition), definition.payload)

    assert execution == handling_of(definition)


def test_text_is_compact_and_readable_with_psql():
    rule = Rule(Every(SECOND), "default|Grüße|", 0, 5, "latest", 60 * SECOND)

    assert rule_text(rule) == (
        '{"schedule":{"every":1000000},"lane":"default|Grüße|","priority":5,"catch_up":"latest",'
        '"catch_up_window_us":60000000}'
    )


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"schedule":{"cron":"x"}}', "null"])
def test_a_rule_that_cannot_be_read_raises_what_the_store_expects(text):
    with pytest.raises((ValueError, TypeError, KeyError)):
        rule_from(text)


def test_every_state_that_is_over_has_a_code_of_its_own():
    assert set(STATUS_CODES) == {status for status in Status if is_over(status)}
    assert len({*STATUS_CODES.values(), RETRIED}) == len(STATUS_CODES) + 1


def test_codes_are_read_back_and_a_retried_attempt_has_failed():
    assert all(STATUS_OF_CODE[code] is status for status, code in STATUS_CODES.items())
    assert STATUS_OF_CODE[RETRIED] is Status.FAILED


@pytest.mark.parametrize(
    ("stored", "cron"),
    [
        ('{"cron":"30 2 * * mon","timezone":"UTC"}', Cron("30 2 * * mon")),
        ('{"cron":"0 0 lw * *","timezone":"UTC"}', Cron("0 0 LW * *")),
        ('{"cron":"0 0 * jul wed,fril","timezone":"UTC"}', Cron("0 0 * JUL WED,FRIL")),
    ],
)
def test_the_cron_of_an_older_database_is_read_as_it_was(stored, cron):
    more = '"lane":"default|q|","priority":5,"catch_up":"latest","catch_up_window_us":1'

    rule = rule_from(f'{{"schedule":{stored},{more}}}')

    assert rule.schedule == cron
    assert rule.schedule.after(0, anchor=0) is not None
