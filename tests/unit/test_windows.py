"""First and last instants, limits, and starts that are moved."""

from __future__ import annotations

from itertools import islice
from typing import Any

import msgspec
import pytest

from onthedot.core import editing
from onthedot.core.editing import CurrentJob
from onthedot.core.firing import plan_firings
from onthedot.core.instants import DAY, HOUR, MINUTE, SECOND, format_instant, parse_instant
from onthedot.core.model import (
    CatchUpLimits,
    Entry,
    Job,
    NewRun,
    Rule,
    occurrence,
    rule_of,
    timetable,
)
from onthedot.core.schedules import Cron, Every, Within, latest, span
from onthedot.core.shifting import Shift
from onthedot.errors import Invalid
from onthedot.store.codec import definition_from, definition_text, rule_from, rule_text
from onthedot.wire import JobIn, JobPatch, PreviewIn, definition_of, patched, preview_of, read
from onthedot.wire.previews import Previewed, preview_out
from tests.support.builders import a_definition

NOW = parse_instant("2027-01-01T00:00:00Z", field="now")
HOURLY = Cron.parse("0 * * * *")


def a_job(**fields: Any) -> Job:
    made = editing.create(7, a_definition(**fields), now=NOW).job
    assert made is not None
    return made


def dues(job: Job, count: int = 5) -> list[str]:
    def each() -> Any:
        due = editing.first_entry(job, job.since)
        while due is not None:
            yield format_instant(due)
            due = editing.first_entry(job, due)

    return list(islice(each(), count))


def test_nothing_is_due_before_the_first_or_after_the_last_instant():
    job = a_job(schedule=HOURLY, start_at=NOW + 2 * HOUR, end_at=NOW + 4 * HOUR)

    assert dues(job) == [f"2027-01-01T0{hour}:00:00Z" for hour in (2, 3, 4)]


def test_an_interval_begins_at_its_start():
    job = a_job(schedule=Every(HOUR), start_at=NOW + 90 * SECOND)

    assert dues(job, 2) == ["2027-01-01T00:01:30Z", "2027-01-01T01:01:30Z"]


def test_a_start_in_the_past_gives_an_interval_its_phase():
    job = a_job(schedule=Every(HOUR), start_at=NOW - 10 * DAY + 5 * MINUTE)

    assert dues(job, 1) == ["2027-01-01T00:05:00Z"]


@pytest.mark.parametrize("schedule", [HOURLY, Every(HOUR)])
def test_a_schedule_is_over_after_so_many_occurrences(schedule: Cron | Every):
    job = a_job(schedule=schedule, max_runs=3)

    assert len(dues(job)) == 3
    assert job.definition.last_at == NOW + 3 * HOUR
    assert editing.next_run_at(job, NOW + 3 * HOUR) is None
    assert editing.last_run_at(job) == NOW + 3 * HOUR


def test_fewer_instants_than_allowed_end_by_themselves():
    job = a_job(schedule=HOURLY, end_at=NOW + 2 * HOUR, max_runs=9)

    assert len(dues(job)) == 2


def test_an_edit_of_something_else_does_not_count_anew():
    job = a_job(schedule=HOURLY, max_runs=3)
    later = CurrentJob(job=job, horizon=0, waiting=False, now=NOW + 2 * HOUR)

    renamed = editing.edit(later, job.definition._replace(name="other")).job
    raised = editing.edit(later, job.definition._replace(max_runs=4)).job

    assert renamed is not None
    assert renamed.definition.last_at == NOW + 3 * HOUR
    assert raised is not None
    assert raised.definition.last_at == NOW + 6 * HOUR


def test_a_pause_is_recorded_when_its_window_changes():
    job = a_job(schedule=HOURLY, paused=True)
    later = CurrentJob(job=job, horizon=0, waiting=False, now=NOW + 3 * HOUR)

    change = editing.edit(later, job.definition._replace(end_at=NOW + DAY))

    assert change.record is not None
    assert (change.record.first, change.record.count) == (NOW + HOUR, 3)
    assert change.job is not None
    assert change.job.skipping_from == NOW + 3 * HOUR


def test_ranges_end_with_the_window():
    bounded = Within(Every(HOUR), end=NOW + 5 * HOUR)

    over = span(bounded, NOW + HOUR, NOW + DAY, anchor=NOW)

    assert over is not None
    assert (over.count, over.last) == (5, NOW + 5 * HOUR)
    assert latest(bounded, NOW + DAY, first=NOW + HOUR, anchor=NOW) == NOW + 5 * HOUR


def test_a_rule_knows_the_end_and_not_the_beginning():
    definition = a_definition(schedule=HOURLY, start_at=NOW, end_at=NOW + DAY)
    rule = rule_of(definition)

    assert rule is not None
    assert rule.schedule == Within(HOURLY, end=NOW + DAY)
    assert rule_of(definition._replace(end_at=None)) == rule_of(a_definition(schedule=HOURLY))


def test_what_a_plain_job_stores_is_what_it_always_was():
    rule = rule_of(a_definition(schedule=HOURLY))

    assert rule is not None
    assert rule.shift is None
    for word in ("end", "shift", "catching"):
        assert f'"{word}"' not in rule_text(rule) + definition_text(a_definition(schedule=HOURLY))


def test_definitions_and_rules_come_back_from_the_store():
    definition = a_definition(
        schedule=HOURLY,
        start_at=NOW,
        end_at=NOW + DAY,
        max_runs=5,
        last_at=NOW + HOUR,
        shift=Shift(MINUTE, SECOND),
        catching=CatchUpLimits(DAY, 10, 2),
    )
    rule = rule_of(definition)

    assert definition_from(definition_text(definition), definition.payload) == definition
    assert rule is not None
    assert rule_from(rule_text(rule)) == rule
    assert timetable(definition) == Within(HOURLY, NOW, NOW + HOUR)


def fired(rule: Rule, due: int, *, now: int, job: int = 7) -> list[NewRun]:
    entry = Entry(job % 16, due, job, 1, 1)
    plan = plan_firings([entry], [], {1: rule}, now=now, until=now + SECOND)
    assert not plan.broken
    assert all(run.at <= plan.until for run in plan.runs)
    assert all(run.at > plan.until for run in plan.later)
    return [*plan.runs, *plan.later]


def test_jitter_moves_the_start_and_never_the_occurrence():
    rule = rule_of(a_definition(schedule=HOURLY, shift=Shift(jitter_us=10 * MINUTE)))
    assert rule is not None

    runs = [fired(rule, NOW + k * HOUR, now=NOW + k * HOUR)[0] for k in range(50)]
    again = [fired(rule, NOW + k * HOUR, now=NOW + k * HOUR)[0] for k in range(50)]

    assert runs == again
    assert [run.run for run in runs] == [occurrence(NOW + k * HOUR) for k in range(50)]
    offsets = [run.at - run.due for run in runs]
    assert all(0 <= offset < 10 * MINUTE for offset in offsets)
    assert len(set(offsets)) > 40


def test_a_spread_gives_each_job_an_offset_that_stays():
    rule = rule_of(a_definition(schedule=HOURLY, shift=Shift(spread_us=10 * MINUTE)))
    assert rule is not None

    def offset(job: int, hours: int) -> int:
        [run] = fired(rule, NOW + hours * HOUR, now=NOW + hours * HOUR, job=job)
        return run.at - run.due

    assert len({offset(7, hours) for hours in range(20)}) == 1
    assert len({offset(job, 0) for job in range(1, 51)}) > 40


def test_catching_up_is_bounded_by_age_count_and_rate():
    def caught(**bounds: int) -> list[NewRun]:
        said = a_definition(
            schedule=Every(MINUTE), catch_up="all", catching=CatchUpLimits(**bounds)
        )
        rule = rule_of(said)
        assert rule is not None
        runs = fired(rule, NOW - HOUR, now=NOW + 30 * SECOND)
        return sorted(run for run in runs if run.due < NOW - 30 * SECOND)

    assert [run.due for run in caught(most=3)] == [NOW - k * MINUTE for k in (3, 2, 1)]
    assert len(caught(age_us=10 * MINUTE)) == 9
    slow = caught(rate=2, most=5)
    assert [run.at - slow[0].at for run in slow] == [k * SECOND // 2 for k in range(5)]


def test_the_latest_is_not_caught_up_beyond_its_age():
    def runs(age_us: int) -> list[NewRun]:
        said = a_definition(schedule=Every(DAY), catching=CatchUpLimits(age_us=age_us))
        rule = rule_of(said)
        assert rule is not None
        return fired(rule, NOW - 3 * HOUR, now=NOW)

    assert runs(2 * HOUR) == []
    assert [run.due for run in runs(4 * HOUR)] == [NOW - 3 * HOUR]


def asked(**fields: Any) -> Any:
    said = {"name": "report", "handlerUrl": "http://127.0.0.1:9/", "every": 60, **fields}
    return definition_of(read(msgspec.json.encode(said), JobIn), now=NOW)


@pytest.mark.parametrize(
    ("fields", "field", "said"),
    [
        ({"startAt": "tomorrow"}, "startAt", "startAt"),
        ({"endAt": "2026-01-01T00:00:00Z"}, "endAt", "no instant left until endAt"),
        (
            {"startAt": "2027-02-02T00:00:00Z", "endAt": "2027-02-01T00:00:00Z"},
            "endAt",
            "endAt is before startAt",
        ),
        ({"maxRuns": 0}, "maxRuns", "1 to 10000"),
        ({"jitter": "P2D"}, "jitter", "longer than 24 hours"),
        ({"spread": -1}, "spread", "spread"),
        ({"every": None, "delay": 5, "endAt": "2028-01-01T00:00:00Z"}, "endAt", "recurs"),
        ({"every": None, "jitter": 5}, "jitter", "recurs"),
        ({"catchUpMax": 100_000}, "catchUpMax", "10000"),
        ({"catchUpRate": 0}, "catchUpRate", "1 to 1000"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(fields: dict[str, Any], field: str, said: str):
    with pytest.raises(Invalid) as refusal:
        asked(**fields)

    assert refusal.value.field == field
    assert said in refusal.value.message


def test_an_edit_takes_a_window_away_and_keeps_the_rest():
    windowed = asked(endAt="2028-01-01T00:00:00Z", jitter=30, catchUpMaxAge=3600)

    without = patched(windowed, JobPatch(end_at=None), now=NOW)
    once = patched(windowed, JobPatch(run_at="2027-05-05T00:00:00Z"), now=NOW)

    assert without.end_at is None
    assert without.shift == Shift(jitter_us=30 * SECOND)
    assert without.catching.age_us == HOUR
    assert (once.end_at, once.shift) == (None, Shift())


def test_a_preview_shows_the_window_and_what_moves_the_start():
    said = {"every": 3600, "startAt": "2027-01-01T08:00:00Z", "maxRuns": 2, "jitter": 60}
    asked_for = read(msgspec.json.encode(said), PreviewIn)

    shown = preview_out(preview_of(asked_for, now=NOW)).instants

    assert [(each.at, each.nominal) for each in shown] == [
        ("2027-01-01T08:00:00Z", "2027-01-01T08:00:00Z"),
        ("2027-01-01T09:00:00Z", "2027-01-01T09:00:00Z"),
    ]
    assert [each.marks for each in shown] == [("jitter",), ("jitter", "last")]


def test_of_a_job_that_is_there_a_preview_shows_nominal_and_effective_time():
    job = a_job(schedule=HOURLY, shift=Shift(spread_us=10 * MINUTE))

    [shown] = preview_out(Previewed(job.definition, NOW, 1, job.anchor, job)).instants

    offset = job.definition.shift.of(job.id, NOW + HOUR)
    assert (shown.nominal, shown.at) == (
        format_instant(NOW + HOUR),
        format_instant(NOW + HOUR + offset),
    )
    assert shown.marks == ("spread",)
