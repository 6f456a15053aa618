"""Why a job does not run and why a run is where it is: from facts to findings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from onthedot.core.editing import create
from onthedot.core.instants import HOUR, MINUTE, SECOND
from onthedot.core.model import Definition, Job, Once
from onthedot.core.schedules import Cron, Every, FixedDelay
from onthedot.core.states import Status
from onthedot.core.views import Load, NodeFacts, NodeView, RunView
from onthedot.core.why import (
    Facts,
    Finding,
    NoticeFact,
    Severity,
    last_due,
    summary,
    why_job,
    why_run,
)

NOW = 1_800_000_000 * SECOND  # 2027-01-15T08:00:00Z
ALL = ("api", "scheduler", "worker", "janitor")
HOURLY = Every(HOUR)


BUSY = Load(running=7)


def a_node(number: int = 3, *, dead: bool = False, load: Load = BUSY, **facts: Any) -> NodeView:
    said = {"roles": ALL, "slots": 100, **facts}
    about = NodeFacts(boot_id="boot", host="host", pid=1, version="0", **said)
    return NodeView(number=number, facts=about, joined_at=0, beat_at=0, dead=dead, load=load)


NODE = a_node()


def a_job(*, made: int = NOW - 10 * MINUTE, **fields: Any) -> Job:
    said = {"name": "report", "handler_url": "http://x/", "schedule": HOURLY, **fields}
    job = create(17, Definition(**said), now=made).job
    assert job is not None
    return job


def facts(job: Job | None = None, **fields: Any) -> Facts:
    return Facts(
        run_id="abc-11-{}".format,
        **{"now": NOW, "job_id": "job-11", "job": job or a_job(), "nodes": [NODE], **fields},
    )


def a_run(status: Status, **fields: Any) -> RunView:
    said = {"due": NOW - MINUTE, "at": NOW - MINUTE, "attempt": 1, "rescues": 0, **fields}
    return RunView(job=17, run=2, version=1, status=status, **said)


def found(findings: list[Finding], check: str) -> Finding:
    [finding] = [each for each in findings if each.check == check]
    return finding


def verdicts(findings: list[Finding]) -> set[Severity]:
    return {each.verdict for each in findings}


# Jobs


def test_nothing_is_in_the_way_of_a_job_that_runs():
    last = a_run(Status.SUCCEEDED, finished_at=NOW - 50 * SECOND)

    findings = why_job(facts(last=last))

    assert verdicts(findings) == {Severity.OK}
    assert summary(findings).startswith("nothing is in its way; it is due next at 2027-01-15T08:50")
    assert [each.check for each in findings] == [
        *("job", "paused", "schedule", "scheduler", "worker", "slots", "last run"),
    ]
    assert "due next at 2027-01-15T08:50:00Z (in 50 min)" in found(findings, "schedule").found
    assert "node 3" in found(findings, "scheduler").found
    assert "7 of 100 slots" in found(findings, "slots").found


def test_a_paused_job_says_since_when_and_how_to_resume_it():
    job = a_job()._replace(skipping_from=NOW - 2 * MINUTE)
    job = job._replace(definition=job.definition._replace(paused=True))

    findings = why_job(facts(job))

    paused = found(findings, "paused")
    assert paused.verdict is Severity.PROBLEM
    assert "2027-01-15T07:58:00Z (2 min ago)" in paused.found
    assert paused.fix == "onthedot job resume job-11"
    assert summary(findings) == paused.found


@pytest.mark.parametrize(
    ("schedule", "said"),
    [
        (None, "runs only when it is triggered"),
        (Once(NOW - MINUTE), "its one instant was 2027-01-15T07:59:00Z"),
        (Cron.parse("0 0 1 1 *", "UTC"), "due next at 2028-01-01T00:00:00Z"),
        (Once(NOW + MINUTE), "due next at 2027-01-15T08:01:00Z (in 1 min)"),
        (FixedDelay(HOUR), "due next at 2027-01-15T08:50:00Z (in 50 min)"),
        (FixedDelay(MINUTE), "its run of 2027-01-15T07:51:00Z (9 min ago) is not over: the next"),
        (Every(MINUTE), "due next at 2027-01-15T08:01:00Z (in 1 min)"),
    ],
)
def test_the_schedule_says_when_it_is_due_next(schedule, said):
    job = a_job(schedule=schedule)

    assert said in found(why_job(facts(job)), "schedule").found


def test_a_one_off_that_was_cancelled_is_not_due_any_more():
    job = a_job(schedule=Once(NOW + MINUTE))._replace(link=None)

    schedule = found(why_job(facts(job)), "schedule")

    assert schedule.found == "its one instant has its end already: 2027-01-15T08:01:00Z (in 1 min)"


def test_an_instant_that_nobody_has_fired_is_a_problem():
    late = a_job(made=NOW - 90 * MINUTE)

    lost, fine = why_job(facts(late, recorded=False)), why_job(facts(late))

    assert found(lost, "fired").verdict is Severity.PROBLEM
    assert "2027-01-15T07:30:00Z (30 min ago)" in found(lost, "fired").found
    assert found(fine, "fired").verdict is Severity.OK


def test_the_last_due_instant_leaves_time_to_fire_it():
    job = a_job(made=NOW - HOUR - 3 * SECOND)

    assert last_due(job, NOW) is None
    assert last_due(job, NOW + 2 * SECOND) == NOW - 3 * SECOND
    assert last_due(job, NOW + 2 * HOUR) == NOW + HOUR - 3 * SECOND
    assert last_due(a_job(schedule=None), NOW) is None
    assert last_due(a_job(schedule=Once(NOW - HOUR)), NOW) is None


def test_an_entry_that_was_set_aside_is_a_problem():
    finding = found(why_job(facts(set_aside="ValueError: no")), "clock")

    assert (finding.verdict, "ValueError: no" in finding.found) == (Severity.PROBLEM, True)
    assert "edit" in finding.fix.lower()


@pytest.mark.parametrize(
    ("node", "check", "said"),
    [
        (a_node(dead=True), "scheduler", "no scheduler is alive"),
        (a_node(dead=True), "worker", "no worker is alive"),
        (a_node(roles=("worker",)), "scheduler", "no scheduler is alive"),
        (a_node(roles=("scheduler",)), "worker", "no worker is alive"),
        (a_node(queues=("mail",)), "worker", "no worker takes runs of queue 'default'"),
        (a_node(load=Load(claiming=False)), "scheduler", "is about to leave"),
        (a_node(load=Load(offset_us=6 * SECOND)), "scheduler", "node 3 is 6 s off the database's"),
        (a_node(load=Load(offset_us=-6 * SECOND)), "worker", "node 3 is 6 s off the database's"),
        (a_node(load=Load(running=100)), "slots", "all 100 slots are busy, and 41 due runs"),
    ],
)
def test_what_is_missing_is_named_with_a_fix(node, check, said):
    finding = found(why_job(facts(nodes=[node], queued=41)), check)

    assert finding.verdict is Severity.PROBLEM
    assert said in finding.found
    assert finding.fix


def test_the_scheduler_of_the_job_s_shard_is_the_one_that_is_named():
    nodes = [a_node(number) for number in (3, 5, 9)]

    # Shards are dealt in turn: 17 % 16 is shard 1, which is the second one's.
    assert "node 5" in found(why_job(facts(nodes=nodes)), "scheduler").found
    without = [nodes[0], replace(nodes[1], dead=True), nodes[2]]
    assert "node 9" in found(why_job(facts(nodes=without)), "scheduler").found


def test_slots_are_those_of_the_workers_that_take_the_queue():
    nodes = [
        a_node(load=Load(running=100), queues=("default",)),
        a_node(4, load=Load(), queues=("mail",)),
    ]

    assert found(why_job(facts(nodes=nodes)), "slots").verdict is Severity.PROBLEM


@pytest.mark.parametrize(
    ("run", "verdict", "said"),
    [
        (
            a_run(Status.FAILED, attempt=4, error="HTTP 503", finished_at=NOW),
            Severity.PROBLEM,
            "run abc-11-2 failed at 2027-01-15T08:00:00Z (now), in attempt 4: HTTP 503",
        ),
        (
            a_run(Status.MISSED, reason="why", until=NOW, count=3),
            Severity.PROBLEM,
            "the 3 occurrences from 2027-01-15T07:59:00Z to 2027-01-15T08:00:00Z were missed: why",
        ),
        (
            a_run(Status.SKIPPED, reason="paused", until=NOW - MINUTE, count=1),
            Severity.NOTE,
            "the occurrence of 2027-01-15T07:59:00Z was skipped: paused",
        ),
        (
            a_run(Status.CANCELLED, reason="cancelled by request"),
            Severity.NOTE,
            "run abc-11-2 ended as cancelled: cancelled by request",
        ),
    ],
)
def test_the_last_record_says_how_it_ended(run, verdict, said):
    finding = found(why_job(facts(last=run)), "last run")

    assert (finding.verdict, finding.found) == (verdict, said)


def test_a_job_that_never_ran_says_so():
    assert "nothing of it is in the ledger" in found(why_job(facts()), "last run").found


# Runs


def test_a_failed_run_can_be_redriven_only_while_it_is_a_letter():
    failed = a_run(Status.FAILED, error="HTTP 500")

    dead, dealt_with = why_run(facts(is_letter=True), failed), why_run(facts(), failed)

    assert "onthedot run redrive abc-11-2" in found(dead, "end").fix
    assert found(dealt_with, "end").fix == ""
    assert summary(dead) == "it failed, in attempt 1: HTTP 500"


def test_a_lost_run_says_what_is_unknown_and_how_to_do_it_again():
    lost = a_run(Status.LOST, error="node 4 died: whether …", reason="node died")

    end = found(why_run(facts(is_letter=True), lost), "end")

    assert (end.verdict, end.found) == (Severity.PROBLEM, "it was lost: node 4 died: whether …")
    assert end.fix.endswith("onthedot run redrive abc-11-2")
    assert found(why_run(facts(), lost), "end").fix == ""


def test_a_run_that_succeeded_says_when():
    findings = why_run(facts(), a_run(Status.SUCCEEDED, finished_at=NOW - SECOND))

    assert summary(findings) == "it succeeded at 2027-01-15T07:59:59Z (1 s ago), in attempt 1"


def test_a_run_that_waits_for_a_retry_says_until_when_and_what_went_wrong():
    run = a_run(Status.SCHEDULED, at=NOW + 30 * SECOND, attempt=3, error="HTTP 503")

    findings = why_run(facts(), run)

    assert "waits for attempt 3 at 2027-01-15T08:00:30Z (in 30 s)" in found(findings, "due").found
    assert found(findings, "last attempt").found == "attempt 2 failed: HTTP 503"


def test_a_run_to_come_says_when_it_is_due():
    findings = why_run(facts(), a_run(Status.SCHEDULED, at=NOW + HOUR))

    assert summary(findings) == "it is due at 2027-01-15T09:00:00Z (in 1 h)"


def test_a_queued_run_that_nobody_holds_needs_a_worker():
    run = a_run(Status.QUEUED)
    deaf = a_node(queues=("mail",))

    findings = why_run(facts(nodes=[deaf], queued=5), run)

    assert found(findings, "node").found == "no node holds it; 5 due runs of its queue wait"
    assert summary(findings) == "no worker takes runs of queue 'default'"
    assert "slots" in {each.check for each in why_run(facts(), run)}


def test_a_run_that_a_living_node_is_about_to_start_has_nothing_in_its_way():
    findings = why_run(facts(), a_run(Status.QUEUED, node=3))

    assert verdicts(findings) == {Severity.OK}
    assert summary(findings).startswith("nothing is in its way; it could start since 2027-01-15")


@pytest.mark.parametrize("status", list(Status))
def test_every_status_of_a_run_has_a_summary(status):
    assert summary(why_run(facts(), a_run(status, node=3, started_at=NOW)))


def test_a_run_in_the_hands_of_a_dead_node_is_taken_over_by_a_janitor():
    run = a_run(Status.RUNNING, node=2, started_at=NOW - MINUTE)
    dead = a_node(2, dead=True)
    other = a_node(roles=("worker",))

    saved, lost = why_run(facts(nodes=[NODE, dead]), run), why_run(facts(nodes=[other, dead]), run)

    assert "taken over within seconds" in found(saved, "node").found
    assert found(lost, "node").verdict is Severity.PROBLEM
    assert "janitor" in found(lost, "node").fix
    assert found(why_run(facts(nodes=[NODE]), run), "node").verdict is Severity.NOTE


def test_a_running_run_names_its_node_and_how_to_end_it():
    run = a_run(Status.RUNNING, node=3, started_at=NOW - MINUTE)

    findings = why_run(facts(), run)

    assert "since 2027-01-15T07:59:00Z (1 min ago)" in found(findings, "running").found
    assert "onthedot run cancel abc-11-2" in found(findings, "running").fix
    assert "node 3 holds it" in found(findings, "node").found
    off = why_run(facts(nodes=[a_node(load=Load(offset_us=9 * SECOND))]), run)
    assert found(off, "node").verdict is Severity.PROBLEM


def test_rescues_redrives_and_deleted_jobs_are_told():
    run = a_run(Status.SUCCEEDED, rescues=2, redrive_of=1)
    gone = replace(facts(), job=None, nodes=())

    findings = why_run(gone, run)

    assert found(findings, "job").found == "its job job-11 was deleted"
    assert "2 times" in found(findings, "rescues").found
    assert "abc-11-1" in found(findings, "redrive").found
    assert why_run(gone, a_run(Status.QUEUED))


def test_a_notice_that_nobody_received_is_told():
    run = a_run(Status.FAILED, error="HTTP 500")
    pending = NoticeFact("https://x/pager", 2, NOW + MINUTE, "HTTP 503")
    given_up = NoticeFact("https://x/pager", 31, None, "HTTP 503")

    later = found(why_run(facts(notice=pending), run), "notice")
    never = found(why_run(facts(notice=given_up), run), "notice")

    assert later.verdict is Severity.NOTE
    assert later.found == (
        "the notice to https://x/pager is to be tried at 2027-01-15T08:01:00Z (in 1 min), "
        "after 2 tries: HTTP 503"
    )
    assert never.verdict is Severity.PROBLEM
    assert never.found == "the notice to https://x/pager was given up after 31 tries: HTTP 503"
    assert "onFailure" in never.fix


def test_a_clock_that_was_set_back_is_why_nothing_is_fired():
    told = facts(horizon=NOW + 70 * SECOND)

    finding = found(why_job(told), "scheduler")

    assert finding.verdict is Severity.PROBLEM
    assert "the clock was set back" in finding.found
    assert "in 1 min 10 s" in finding.found
