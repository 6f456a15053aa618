"""A fixed delay: how it is said, what is known of it ahead, and how its chain goes on."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot.core.backfilling import refuse_fixed_delay
from onthedot.core.chaining import Chain, first_chain, following, link_of
from onthedot.core.editing import CurrentJob, create, edit, next_run_at
from onthedot.core.instants import HOUR, INSTANT_MAX, MINUTE, SECOND, Instant
from onthedot.core.model import Definition, Job, Lanes, lane_of, occurrence, traits_of
from onthedot.core.schedules import (
    Every,
    FixedDelay,
    Terms,
    coming,
    explain,
    normal_form,
    read_schedule,
)
from onthedot.core.states import Status
from onthedot.core.traits import AT_MOST_ONCE, FIXED_DELAY
from onthedot.errors import Invalid, InvalidDuration, InvalidSchedule, NeverFires
from onthedot.store.codec import definition_from, definition_text
from onthedot.wire import PreviewIn, preview_of, read
from onthedot.wire.previews import Previewed, preview_out
from tests.unit.test_wire_definitions import NOW, after_patch, defined, shown

TERMS = Terms(now=NOW)
QUARTER = 15 * MINUTE


def a_job(**fields: Any) -> Job:
    definition = Definition(**{"name": "sync", "schedule": FixedDelay(QUARTER), **fields})
    job = create(7, definition, now=NOW).job
    assert job is not None
    return job


def a_chain(**fields: Any) -> Chain:
    return first_chain(a_job(**fields), NOW)


def preview(**said: Any) -> dict[str, Any]:
    asked = read(json.dumps(said).encode(), PreviewIn)
    answer: dict[str, Any] = json.loads(
        msgspec.json.encode(preview_out(preview_of(asked, now=NOW)))
    )
    return answer


@pytest.mark.parametrize(
    ("text", "us", "sentence", "form"),
    [
        ("15 minutes after the last run", QUARTER, "15 minutes", "PT15M"),
        ("fixed delay 15m", QUARTER, "15 minutes", "PT15M"),
        ("Fixed delay of 1 hour and 30 minutes", 90 * MINUTE, "90 minutes", "PT1H30M"),
        ("PT1H after the last run", HOUR, "1 hour", "PT1H"),
        ("an hour after the last run has ended", HOUR, "1 hour", "PT1H"),
        ("1h 30m after the previous run", 90 * MINUTE, "90 minutes", "PT1H30M"),
        ("1.5s  after the last run ends", 1_500_000, "1.5 s", "PT1.5S"),
    ],
)
def test_it_is_read_in_words_and_said_in_words_that_are_read_again(text, us, sentence, form):
    found = read_schedule(text, TERMS)

    assert found == FixedDelay(us)
    assert explain(found) == f"{sentence} after the last run has ended"
    assert normal_form(found) == f"{form} after the last run"
    assert read_schedule(explain(found), TERMS) == found
    assert read_schedule(normal_form(found), TERMS) == found


@given(st.integers(min_value=1_000, max_value=10**9).map(lambda ms: ms * 1_000))
def test_any_delay_is_said_in_words_that_are_read_again(us):
    delay = FixedDelay(us)

    assert read_schedule(explain(delay), TERMS) == delay
    assert read_schedule(normal_form(delay), TERMS) == delay


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("soon after the last run", "has 'soon' where a duration should stand"),
        ("2 months after the last run", "has '2 months' where a duration should stand"),
        ("1 hour after the last run on mondays", "goes on after the last run with ' on mondays'"),
    ],
)
def test_what_is_no_fixed_delay_is_refused_with_an_example(text, why):
    with pytest.raises(InvalidSchedule, match=why) as refused:
        read_schedule(text, TERMS)

    assert refused.value.field == "schedule"
    assert "'15 minutes after the last run'" in refused.value.hint


def test_less_than_a_second_is_refused():
    with pytest.raises(InvalidDuration, match="500 ms is shorter than 1 s") as refused:
        defined(fixedDelay=0.5)
    assert refused.value.field == "fixedDelay"
    with pytest.raises(InvalidDuration) as refused:
        defined(schedule="0.5s after the last run")
    assert refused.value.field == "schedule"


def test_a_job_says_it_in_seconds_and_is_kept_as_it_was_said():
    definition = defined(fixedDelay="PT15M")

    assert definition.schedule == FixedDelay(QUARTER)
    assert definition_from(definition_text(definition), "{}") == definition
    out = shown(definition)
    assert (out["fixedDelay"], out["every"], out["cronExpr"]) == (900, None, None)
    assert out["sentence"] == "15 minutes after the last run has ended"
    assert out["nextRunAt"] == "2026-03-01T00:15:00Z"


def test_an_edit_replaces_it_and_null_takes_it_away():
    definition = defined(fixedDelay=900)

    assert after_patch(definition, every=60).schedule == Every(MINUTE)
    assert after_patch(defined(every=60), fixedDelay=60).schedule == FixedDelay(MINUTE)
    assert after_patch(definition, fixedDelay=None).schedule is None
    assert after_patch(definition, name="other").schedule == FixedDelay(QUARTER)
    with pytest.raises(Invalid, match="every and fixedDelay are two schedules at once"):
        defined(every=60, fixedDelay=60)


@pytest.mark.parametrize("field", ["jitter", "spread"])
def test_nothing_moves_its_instants(field):
    with pytest.raises(Invalid, match=f"{field} moves instants") as refused:
        defined(fixedDelay=60, **{field: 5})

    assert refused.value.field == field
    assert after_patch(defined(every=60, **{field: 5}), fixedDelay=60).shift == (0, 0)


def test_an_end_before_the_first_instant_is_refused():
    with pytest.raises(NeverFires, match="no instant left until endAt") as refused:
        defined(fixedDelay=900, endAt="2026-03-01T00:14:59Z")

    assert refused.value.field == "endAt"
    assert defined(fixedDelay=900, endAt="2026-03-01T00:15:00Z").end_at is not None


def test_a_preview_shows_one_instant_and_says_why_no_other():
    found = preview(fixedDelay=900, count=5)

    [instant] = found["instants"]
    assert (instant["at"], instant["marks"]) == ("2026-03-01T00:15:00Z", ["fixedDelay"])
    assert found["normalised"] == "PT15M after the last run"
    started = preview(fixedDelay=900, startAt="2026-04-01T00:00:00Z", maxRuns=1)
    assert started["instants"][0]["at"] == "2026-04-01T00:00:00Z"
    assert started["instants"][0]["marks"] == ["fixedDelay", "last"]
    assert [each.at for each in coming(FixedDelay(QUARTER), NOW, 3, anchor=NOW)] == [NOW + QUARTER]


def test_a_preview_of_a_job_whose_run_is_under_way_shows_nothing():
    job = a_job()

    waits = preview_out(Previewed(job.definition, NOW, 5, NOW, job))
    under_way = preview_out(Previewed(job.definition, NOW + QUARTER, 5, NOW, job))

    assert [each.at for each in waits.instants] == ["2026-03-01T00:15:00Z"]
    assert under_way.instants == []
    assert next_run_at(job, NOW) == NOW + QUARTER
    assert next_run_at(job, NOW + QUARTER) is None


def test_a_backfill_has_nothing_to_look_for():
    with pytest.raises(Invalid, match="so none is missing"):
        refuse_fixed_delay(Definition(name="sync", schedule=FixedDelay(QUARTER)))


def test_its_runs_have_a_trait_and_the_same_workers_take_them():
    job = Definition(name="sync", schedule=FixedDelay(QUARTER), queue="mail")
    once = job._replace(guarantee="at_most_once", handler="shop.bill")

    assert (lane_of(job), lane_of(once)) == ("default|mail|", "default|mail|shop.bill")
    assert (traits_of(job), traits_of(once)) == (FIXED_DELAY, FIXED_DELAY | AT_MOST_ONCE)
    assert Lanes(("mail",)).take(lane_of(job))
    assert not Lanes(("mail",)).take(lane_of(once))
    assert Lanes((), frozenset({"shop.bill"})).take(lane_of(once))


def test_the_first_link_is_one_delay_away_or_at_the_start():
    start = NOW + HOUR

    assert a_chain().due == NOW + QUARTER
    assert a_chain(start_at=start).due == start
    assert a_chain(start_at=NOW - HOUR).due == NOW + QUARTER


def test_a_link_of_a_paused_job_is_not_made():
    assert link_of(a_chain(paused=True)) is None
    assert link_of(a_chain()._replace(run=None)) is None
    run = link_of(a_chain(catch_up="none", catch_up_window_us=SECOND))
    assert run is not None
    assert (run.due, run.expires) == (NOW + QUARTER, NOW + QUARTER + SECOND)


def test_a_chain_with_turns_is_over_after_the_last():
    chain = a_chain(max_runs=2)

    second = following(chain, NOW + HOUR)
    third = following(second, NOW + 2 * HOUR)

    assert (chain.turns, second.turns) == (1, 0)
    assert (second.due, third.due) == (NOW + HOUR + QUARTER, None)


@given(
    st.lists(st.integers(min_value=-2 * HOUR, max_value=30 * HOUR), max_size=20),
    st.integers(min_value=SECOND, max_value=2 * HOUR),
)
def test_every_link_is_later_than_the_last_and_one_delay_after_its_end(ends, delay_us):
    chain = a_chain(schedule=FixedDelay(delay_us))
    at = NOW
    for took in ends:
        at += took
        before = chain.due
        assert before is not None
        chain = following(chain, at)
        assert chain.due is not None
        assert chain.due >= max(at, before) + delay_us


def test_what_would_be_due_after_2199_is_over():
    assert following(a_chain(), INSTANT_MAX).due is None


def current(job: Job, chain: Chain, now: Instant, **where: bool) -> CurrentJob:
    said = {"waiting": False, "live": False, **where}
    return CurrentJob(job=job, horizon=0, now=now, chain=chain, **said)


@pytest.mark.parametrize("paused", [True, False])
def test_an_edit_mends_a_chain_whose_link_is_gone(paused):
    job = a_job()
    stands = current(job, first_chain(job, NOW), NOW + HOUR)

    change = edit(stands, job.definition._replace(paused=paused))

    assert change.chain is not None
    assert (change.run is None) == paused
    if change.run is not None:
        assert change.run.due == NOW + HOUR + QUARTER


def test_a_pause_is_recorded_once_however_often_the_job_is_edited():
    job = a_job(paused=True)
    stands = current(job, first_chain(job, NOW), NOW + HOUR)

    still = edit(stands, job.definition._replace(name="other"))
    over = edit(stands, job.definition._replace(paused=False))
    later_start = edit(stands, job.definition._replace(start_at=NOW + 9 * HOUR))

    assert still.record is None
    assert still.chain is not None
    assert still.chain.run == occurrence(NOW + QUARTER)
    for change in (over, later_start):
        assert change.record is not None
        assert (change.record.status, change.record.first) == (Status.SKIPPED, NOW + QUARTER)
    assert later_start.chain is not None
    assert later_start.chain.due == NOW + 9 * HOUR


def test_a_resume_takes_a_turn_for_what_the_pause_held_back():
    job = a_job(paused=True, max_runs=2)
    stands = current(job, first_chain(job, NOW), NOW + HOUR)

    change = edit(stands, job.definition._replace(paused=False))
    again = edit(stands, job.definition._replace(paused=False, max_runs=5))

    assert change.chain is not None
    assert (change.chain.due, change.chain.turns) == (NOW + HOUR + QUARTER, 0)
    assert again.chain is not None
    assert (again.chain.due, again.chain.turns) == (NOW + HOUR + QUARTER, 4)


def test_a_later_end_wakes_a_chain_that_was_over():
    job = a_job(end_at=NOW + QUARTER)
    stands = current(job, first_chain(job, NOW)._replace(run=None), NOW + HOUR)

    same = edit(stands, job.definition._replace(name="other"))
    longer = edit(stands, job.definition._replace(end_at=NOW + 9 * HOUR))

    assert (same.run, same.chain and same.chain.run) == (None, None)
    assert longer.run is not None
    assert longer.run.due == NOW + HOUR + QUARTER
