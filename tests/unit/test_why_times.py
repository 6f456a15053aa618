"""Why a job is not due when one thinks it is: its calendar, and the chain of a fixed delay."""

from __future__ import annotations

from typing import Any

import pytest

from onthedot.core.instants import HOUR, MINUTE, SECOND
from onthedot.core.model import Job, NamedCalendar
from onthedot.core.schedules import Calendar, Cron, FixedDelay, Roll
from onthedot.core.states import Status
from onthedot.core.why import Severity, summary, why_job
from tests.unit.test_why import NOW, a_job, a_run, facts, found

BUSINESS = Calendar.read(["2027-01-14", "12-25"], ["mon-fri 06:00-18:00"])  # NOW is a Friday


def a_day_job(expression: str, roll: Roll = "skip", zone: str = "UTC", **fields: Any) -> Job:
    calendar = NamedCalendar("business", 2, BUSINESS)
    said = {"schedule": Cron.parse(expression, zone), "timezone": zone, "calendar_roll": roll}
    return a_job(made=NOW - 30 * HOUR, **said, calendar=calendar, **fields)


@pytest.mark.parametrize(
    ("job", "what", "rule"),
    [
        (
            a_day_job("0 17 * * *"),
            "leaves out 2027-01-14T17:00:00Z (15 h ago)",
            "exclude has '2027-01-14'",
        ),
        (
            a_day_job("0 17 * * *", "next"),
            "moves 2027-01-14T17:00:00Z (15 h ago) to 2027-01-15T17:00:00Z (in 9 h)",
            "exclude has '2027-01-14'",
        ),
        (
            a_day_job("0 5,17 * * *"),
            "leaves out 2027-01-15T05:00:00Z (3 h ago)",
            "require has only 'mon-fri 06:00-18:00'",
        ),
        (
            a_day_job("0 9 * * SAT", "previous"),
            "moves 2027-01-16T09:00:00Z (in 1 d 1 h) to 2027-01-15T09:00:00Z (in 1 h)",
            "require has only 'mon-fri 06:00-18:00'",
        ),
        (
            a_day_job("0 1,12 * * *", zone="America/New_York"),
            "leaves out 2027-01-15T06:00:00Z (2 h ago)",
            "require has only 'mon-fri 06:00-18:00'",
        ),
    ],
    ids=["left out", "moved", "outside of the hours", "moved ahead", "by the clock of its zone"],
)
def test_a_calendar_says_which_rule_is_against_an_instant(job, what, rule):
    findings = why_job(facts(job))

    calendar, said = found(findings, "calendar"), f"calendar 'business' (version 2) {what}: {rule}"
    assert (calendar.verdict, calendar.found) == (Severity.NOTE, said)
    assert calendar.fix == "If that is not meant: onthedot calendar show business"
    assert summary(findings) == said


def test_a_calendar_that_is_not_in_the_way_says_so():
    fine = found(why_job(facts(a_day_job("0 7 * * FRI"))), "calendar")
    paused = why_job(facts(a_day_job("0 17 * * *", paused=True)))

    assert fine.verdict is Severity.OK
    assert (
        fine.found == "calendar 'business' (version 2) leaves its last and its next instant alone"
    )
    assert "calendar" not in {each.check for each in (*paused, *why_job(facts()))}


def test_a_schedule_of_which_a_calendar_allows_nothing_any_more_says_so():
    findings = why_job(facts(a_day_job("0 5 * * *")))

    assert summary(findings) == "its schedule is over: calendar 'business' allows no instant of it"


def test_of_many_required_rules_the_first_are_named():
    rules = ["2026-02-01", "2026-03-01", "2026-04-01", "2026-05-01", "2026-06-01"]
    job = a_day_job("0 17 * * *")
    calendar = NamedCalendar("days", 1, Calendar.read([], rules))
    job = job._replace(definition=job.definition._replace(calendar=calendar))

    said = found(why_job(facts(job)), "calendar").found

    assert said.endswith("require has only '2026-02-01', '2026-03-01', '2026-04-01' and 2 more")


@pytest.mark.parametrize(
    ("link", "said"),
    [
        (
            a_run(Status.SCHEDULED, at=NOW + HOUR),
            "due at 2027-01-15T09:00:00Z (in 1 h); the next counts from its end",
        ),
        (
            a_run(Status.SCHEDULED, at=NOW + MINUTE, attempt=3),
            "which waits for attempt 3 at 2027-01-15T08:01:00Z (in 1 min); the next counts from",
        ),
        (
            a_run(Status.QUEUED),
            "which could start since 2027-01-15T07:59:00Z (1 min ago) and waits for a worker; the",
        ),
        (
            a_run(Status.RUNNING, started_at=NOW - 30 * SECOND),
            "running since 2027-01-15T07:59:30Z (30 s ago); the next counts from its end",
        ),
    ],
)
def test_a_chain_names_its_latest_link_and_what_it_waits_for(link, said):
    finding = found(why_job(facts(a_job(schedule=FixedDelay(MINUTE)), link=link)), "chain")

    assert finding.verdict is Severity.OK
    assert finding.found.startswith(f"its latest link is run abc-11-2, {said}")


def test_a_chain_that_stands_is_a_problem_with_a_way_out():
    job = a_job(schedule=FixedDelay(MINUTE))

    ended = found(why_job(facts(job, link=a_run(Status.SUCCEEDED))), "chain")
    gone = found(why_job(facts(job)), "chain")

    start = "its chain stands: its link of 2027-01-15T07:51:00Z (9 min ago)"
    assert ended.found == f"{start} has ended: run abc-11-2, succeeded, and no other was made"
    assert gone.found == f"{start} is not there, and no other was made"
    assert {ended.verdict, gone.verdict} == {Severity.PROBLEM}
    assert gone.fix == "onthedot job pause job-11, then onthedot job resume job-11"


def test_a_pause_holds_a_chain_back_and_one_that_is_over_has_no_link():
    job = a_job(schedule=FixedDelay(MINUTE), paused=True)
    link = a_run(Status.RUNNING, started_at=NOW - 30 * SECOND)
    over = a_job(schedule=FixedDelay(MINUTE), max_runs=1)._replace(link=None)
    ended = a_job(schedule=FixedDelay(MINUTE), end_at=NOW - HOUR // 2)._replace(link=None)

    held, last = (found(why_job(facts(job, link=each)), "chain") for each in (None, link))

    assert held.found.startswith("the pause holds its chain back")
    assert last.found.endswith("after its end the pause holds the chain back")
    assert "chain" not in {each.check for each in why_job(facts(over))}
    assert "maxRuns is 1, and so many were due" in found(why_job(facts(over)), "schedule").found
    assert "endAt was 2027-01-15T07:30:00Z" in found(why_job(facts(ended)), "schedule").found
