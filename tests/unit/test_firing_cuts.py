"""Versions that ended, schedules that end, and entries that cannot be fired."""

from __future__ import annotations

import pytest

from onthedot.core.firing import AHEAD, YOUNG_MAX, Plan, VersionRef, plan_firings
from onthedot.core.instants import DAY, HOUR, INSTANT_MAX, MINUTE, SECOND, Instant, parse_instant
from onthedot.core.model import CatchUp, Cut, Entry, Rule, shard_of
from onthedot.core.schedules import Cron, Every
from onthedot.core.states import Status
from tests.support.builders import put_back

NOW = parse_instant("2026-03-02T12:00:00Z", field="now")
JOB, VERSION, RULE = 33, 4, 7
THIS = VersionRef(JOB, VERSION)
EVERY_MINUTE: list[Cron | Every] = [Every(MINUTE), Cron.parse("* * * * *")]
YEARLY = Cron.parse("59 23 31 12 *")
LAST_MINUTE = parse_instant("2199-12-31T23:59:00Z", field="due")


def a_rule(
    schedule: Cron | Every = EVERY_MINUTE[0], catch_up: CatchUp = "latest", window: int = MINUTE
) -> Rule:
    return Rule(schedule, "default|default|", 0, 5, catch_up, window)


def an_entry(due: Instant) -> Entry:
    return Entry(shard_of(JOB), due, JOB, VERSION, RULE)


def fired(
    rule: Rule,
    due: Instant,
    *,
    cut: Instant | None = None,
    deleted: bool = False,
    now: Instant = NOW,
) -> Plan:
    cuts = [] if cut is None else [Cut(JOB, VERSION, cut, deleted)]
    return plan_firings([an_entry(due)], cuts, {RULE: rule}, now=now, until=now + AHEAD)


def fates(plan: Plan) -> list[tuple[str, Instant, Instant, int | None]]:
    """Runs and records in order of time."""
    runs = [("run", run.due, run.due, 1) for run in (*plan.runs, *plan.later)]
    records = [(str(r.status), r.first, r.last, r.count) for r in plan.records]
    return sorted([*runs, *records], key=lambda fate: fate[1])


# --- versions that ended ------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", EVERY_MINUTE)
@pytest.mark.parametrize(
    ("cut", "last"),
    [(NOW, NOW), (NOW - 1, NOW - MINUTE), (NOW - MINUTE, NOW - MINUTE), (NOW + AHEAD, NOW)],
)
def test_the_old_version_fires_up_to_its_cut_and_nothing_after(schedule, cut, last):
    first = NOW - 2 * MINUTE

    plan = fired(a_rule(schedule, window=HOUR), first, cut=cut)

    assert [run.due for run in plan.runs] == list(range(first, last + 1, MINUTE))
    assert all(run.version == VERSION for run in plan.runs)
    assert plan.closed == [THIS]
    assert (put_back(plan), plan.ended, plan.records) == ([], [], [])


def test_an_entry_beyond_its_cut_is_only_dropped():
    plan = fired(a_rule(), NOW, cut=NOW - 1)

    assert plan.taken == [an_entry(NOW)]
    assert plan.closed == [THIS]
    assert (fates(plan), put_back(plan), plan.ended) == ([], [], [])


@pytest.mark.parametrize("deleted", [False, True])
def test_an_entry_that_is_neither_due_nor_beyond_its_cut_stays(deleted):
    due = NOW + AHEAD + 1

    plan = fired(a_rule(), due, cut=due, deleted=deleted)

    assert put_back(plan) == [an_entry(due)]
    assert (fates(plan), plan.closed, plan.ended) == ([], [], [])


def test_a_cut_after_the_claim_is_kept_while_something_is_left_up_to_it():
    plan = fired(a_rule(Every(SECOND)), NOW, cut=NOW + 2 * SECOND)

    assert [run.due for run in plan.runs] == [NOW, NOW + SECOND]
    assert put_back(plan) == [an_entry(NOW + 2 * SECOND)]
    assert plan.closed == []


def test_a_cut_after_the_claim_is_consumed_when_nothing_is_left_up_to_it():
    plan = fired(a_rule(Every(SECOND)), NOW, cut=NOW + 2 * SECOND - 1)

    assert [run.due for run in plan.runs] == [NOW, NOW + SECOND]
    assert put_back(plan) == []
    assert plan.closed == [THIS]


@pytest.mark.parametrize("schedule", EVERY_MINUTE)
@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("none", [("missed", NOW - 9 * MINUTE, NOW - 5 * MINUTE, 5)]),
        (
            "latest",
            [
                ("missed", NOW - 9 * MINUTE, NOW - 6 * MINUTE, 4),
                ("run", NOW - 5 * MINUTE, NOW - 5 * MINUTE, 1),
            ],
        ),
        ("all", [("run", NOW - k * MINUTE, NOW - k * MINUTE, 1) for k in (9, 8, 7, 6, 5)]),
    ],
)
def test_what_is_missed_ends_at_the_cut(schedule, policy, expected):
    plan = fired(a_rule(schedule, policy), NOW - 9 * MINUTE, cut=NOW - 4 * MINUTE - 1)

    assert fates(plan) == expected
    assert plan.closed == [THIS]


def test_young_ones_beyond_one_claim_keep_the_cut():
    first = NOW - HOUR

    plan = fired(a_rule(Every(SECOND), window=DAY), first, cut=NOW)

    assert len(plan.runs) == YOUNG_MAX
    assert put_back(plan) == [an_entry(first + YOUNG_MAX * SECOND)]
    assert plan.closed == []


@pytest.mark.parametrize("cut", [Cut(JOB, VERSION - 1, NOW - DAY, False), Cut(9, 4, 0, True)])
def test_the_cut_of_another_version_or_job_changes_nothing(cut):
    plan = plan_firings([an_entry(NOW)], [cut], {RULE: a_rule()}, now=NOW, until=NOW)

    assert [run.due for run in plan.runs] == [NOW]
    assert put_back(plan) == [an_entry(NOW + MINUTE)]
    assert plan.cuts == [cut]
    assert plan.closed == []


def test_two_versions_of_a_job_share_its_occurrences_at_the_cut():
    cut = NOW - 90 * SECOND
    old, new = Entry(1, NOW - 3 * MINUTE, JOB, 1, RULE), Entry(1, NOW - MINUTE, JOB, 2, RULE)
    rule = a_rule(window=HOUR)

    plan = plan_firings([old, new], [Cut(JOB, 1, cut, False)], {RULE: rule}, now=NOW, until=NOW)

    assert [(run.due, run.version) for run in plan.runs] == [
        (NOW - 3 * MINUTE, 1),
        (NOW - 2 * MINUTE, 1),
        (NOW - MINUTE, 2),
        (NOW, 2),
    ]
    assert put_back(plan) == [new._replace(due=NOW + MINUTE)]
    assert plan.closed == [VersionRef(JOB, 1)]


# --- deleted ------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["latest", "all", "none"])
@pytest.mark.parametrize("schedule", EVERY_MINUTE)
@pytest.mark.parametrize(
    ("first", "cut", "last", "count"),
    [
        (NOW, NOW, NOW, 1),
        (NOW - 3 * MINUTE, NOW, NOW, 4),
        (NOW - 3 * MINUTE, NOW - 1, NOW - MINUTE, 3),
        (NOW - DAY, NOW - HOUR, NOW - HOUR, 1381),
    ],
)
def test_what_a_deleted_job_still_owed_is_one_skipped_record(
    policy, schedule, first, cut, last, count
):
    plan = fired(a_rule(schedule, policy), first, cut=cut, deleted=True)

    [record] = plan.records
    assert (record.status, record.reason) == (Status.SKIPPED, "job deleted")
    assert (record.first, record.last, record.count) == (first, last, count)
    assert (plan.runs, plan.later, put_back(plan), plan.ended) == ([], [], [], [])
    assert plan.closed == [THIS]


def test_a_deleted_job_that_owed_nothing_leaves_no_record():
    plan = fired(a_rule(), NOW, cut=NOW - 1, deleted=True)

    assert plan.closed == [THIS]
    assert (fates(plan), put_back(plan), plan.ended) == ([], [], [])


# --- schedules that end -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schedule", "due"),
    [(YEARLY, LAST_MINUTE), (Every(DAY), INSTANT_MAX), (Every(DAY), INSTANT_MAX - DAY + 1)],
)
def test_a_schedule_without_a_further_instant_is_over(schedule, due):
    plan = fired(a_rule(schedule), due, now=due)

    assert [run.due for run in plan.runs] == [due]
    assert plan.ended == [THIS]
    assert (put_back(plan), plan.closed, plan.broken) == ([], [], [])


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("latest", [("run", LAST_MINUTE, LAST_MINUTE, 1)]),
        ("all", [("run", LAST_MINUTE, LAST_MINUTE, 1)]),
        ("none", [("missed", LAST_MINUTE, LAST_MINUTE, 1)]),
    ],
)
def test_the_last_occurrence_of_a_schedule_can_be_late_too(policy, expected):
    plan = fired(a_rule(YEARLY, policy, window=0), LAST_MINUTE, now=LAST_MINUTE + 30 * SECOND)

    assert fates(plan) == expected
    assert plan.ended == [THIS]
    assert put_back(plan) == []


def test_the_end_of_a_schedule_also_ends_a_cut():
    plan = fired(a_rule(YEARLY), LAST_MINUTE, cut=INSTANT_MAX, now=LAST_MINUTE)

    assert [run.due for run in plan.runs] == [LAST_MINUTE]
    assert plan.closed == [THIS]
    assert (put_back(plan), plan.ended) == ([], [])


# --- entries that cannot be fired ---------------------------------------------------------------

UNREADABLE = [
    Cron("every now and then"),
    Cron("0 0 30 2 *"),
    Cron("* * * * *", "Middle-earth/Shire"),
]


@pytest.mark.parametrize("schedule", UNREADABLE)
@pytest.mark.parametrize("late", [-AHEAD, 0, DAY])
@pytest.mark.parametrize("policy", ["latest", "all", "none"])
def test_an_entry_whose_rule_raises_is_set_aside_and_its_neighbours_fire(schedule, late, policy):
    before, bad, after = (Entry(0, NOW - late, job, 1, job) for job in (16, 32, 48))
    rules = {16: a_rule(window=HOUR), 32: a_rule(schedule, policy), 48: a_rule(window=HOUR)}

    plan = plan_firings([before, bad, after], [], rules, now=NOW, until=NOW + AHEAD)

    assert plan.taken == [before, bad, after]
    assert {run.job for run in plan.runs} == {16, 48}
    assert {entry.job for entry in put_back(plan)} == {16, 48}
    assert all(record.job != 32 for record in plan.records)
    [broken] = plan.broken
    assert broken.entry == bad
    assert type(broken.why) is str
    assert broken.why.split(":")[0].isidentifier()
    assert plan.ended == [VersionRef(32, 1)]


def test_an_entry_whose_rule_is_unknown_is_set_aside_and_its_neighbours_fire():
    good, bad = an_entry(NOW), Entry(0, NOW, 32, 1, RULE + 1)

    plan = plan_firings([bad, good], [], {RULE: a_rule()}, now=NOW, until=NOW)

    assert [broken.entry for broken in plan.broken] == [bad]
    assert [run.job for run in plan.runs] == [JOB]
    assert plan.taken == [bad, good]


def test_a_broken_entry_that_is_not_due_yet_is_not_judged():
    plan = fired(a_rule(UNREADABLE[0]), NOW + AHEAD + 1)

    assert plan.broken == []
    assert put_back(plan) == [an_entry(NOW + AHEAD + 1)]


def test_the_cut_of_an_entry_that_is_set_aside_goes_with_it():
    plan = fired(a_rule(UNREADABLE[0]), NOW, cut=NOW)

    assert [broken.entry for broken in plan.broken] == [an_entry(NOW)]
    assert plan.closed == [THIS]
