"""Who is right about a time zone, and what a change of its offsets does to an entry."""

from __future__ import annotations

from itertools import pairwise

import pytest

from onthedot.core.instants import DAY, HOUR, SECOND, Instant, parse_instant
from onthedot.core.model import Definition, Job
from onthedot.core.schedules import Cron, zones
from onthedot.core.schedules.zones import Offsets, own_offsets
from onthedot.core.zoning import ClockedJob, KnownZone, judge, moved, years_around
from onthedot.observe import tzdata

NOW = parse_instant("2026-07-01T12:00:00Z", field="NOW")
YEARS = years_around(NOW)
BERLIN = "Europe/Berlin"
TOKYO = "Asia/Tokyo"
OURS = own_offsets(BERLIN, *YEARS)
OTHERS = own_offsets("Europe/Moscow", *YEARS)


@pytest.fixture(autouse=True)
def _own_zones():
    yield
    zones.prefer({})


def known(offsets: Offsets = OTHERS, release: str = "2026b", name: str = BERLIN) -> KnownZone:
    return KnownZone(name, release, offsets)


def test_a_zone_that_nobody_has_recorded_is():
    verdict = judge([], {BERLIN, "UTC"}, "2026b", starting=True, now=NOW)

    assert verdict.record == [known(OURS)]
    assert not verdict.changed
    assert not verdict.follow


def test_the_newer_release_is_right_whoever_starts():
    for starting in (True, False):
        newer = judge([known()], {BERLIN}, "2026c", starting=starting, now=NOW)
        older = judge([known()], {BERLIN}, "2026a", starting=starting, now=NOW)

        assert newer.record == [known(OURS, "2026c")]
        assert newer.changed == {BERLIN}
        assert older.follow == {BERLIN: OTHERS}
        assert not older.record


def test_of_the_same_release_who_starts_is_right_and_who_runs_follows():
    starts = judge([known()], {BERLIN}, "2026b", starting=True, now=NOW)
    runs = judge([known()], {BERLIN}, "2026b", starting=False, now=NOW)

    assert starts.changed == {BERLIN}
    assert runs.follow == {BERLIN: OTHERS}


def test_an_unknown_release_never_goes_before_a_known_one():
    assert judge([known()], {BERLIN}, "", starting=True, now=NOW).follow == {BERLIN: OTHERS}


def test_what_is_the_same_is_not_changed_and_the_release_that_confirms_it_is_noted():
    same = judge([known(OURS)], {BERLIN}, "2026b", starting=True, now=NOW)
    confirmed = judge([known(OURS)], {BERLIN}, "2026c", starting=True, now=NOW)
    older = judge([known(OURS)], {BERLIN}, "2026a", starting=True, now=NOW)

    assert (same.record, older.record) == ([], [])
    assert confirmed.record == [known(OURS, "2026c")]
    assert not confirmed.changed


def test_every_year_the_row_is_renewed_without_a_change():
    year_before = years_around(NOW - 365 * DAY)
    row = known(own_offsets(BERLIN, *year_before))

    verdict = judge([row], {BERLIN}, "2026b", starting=False, now=NOW)

    assert verdict.record == [known(OURS)]
    assert not verdict.changed


def test_a_zone_that_this_machine_has_never_heard_of_is_followed_where_others_know_it():
    row = known(OTHERS, "2026b", "Mars/Olympus")

    verdict = judge([row], {"Mars/Olympus", "Mars/Elsewhere"}, "2026c", starting=True, now=NOW)

    assert verdict.follow == {"Mars/Olympus": OTHERS}
    assert not verdict.record
    zones.prefer(verdict.follow)
    noon = Cron("0 12 * * *", "Mars/Olympus").after(NOW)
    far = Cron("0 12 * * *", "Mars/Olympus").after(NOW + 50 * 366 * DAY)
    assert noon == parse_instant("2026-07-02T09:00:00Z", field="noon")
    assert far is not None
    assert far % DAY == 9 * HOUR


def test_whoever_has_a_schedule_in_hand_follows_too_and_back():
    schedule = Cron.parse("0 12 * * *", BERLIN)
    before = schedule.after(NOW)

    zones.prefer({BERLIN: OTHERS})
    meanwhile = schedule.after(NOW)
    zones.prefer({})

    assert before == schedule.after(NOW) == NOW + 22 * HOUR
    assert meanwhile == NOW + 21 * HOUR
    assert Cron.parse("0 12 * * *", TOKYO).after(NOW) == NOW + 15 * HOUR


def test_offsets_are_known_for_their_years_and_no_further():
    begin, end = YEARS

    assert OURS.at(begin) == 3600
    assert OURS.at(NOW // SECOND) == 7200
    assert OURS.at(end - 1) == 3600
    assert (OURS.at(begin - 1), OURS.at(end)) == (None, None)
    assert all(before[1] != after[1] for before, after in pairwise(OURS.changes))


def a_coming(expression: str, due: Instant, settled: Instant) -> ClockedJob:
    definition = Definition(name="n", schedule=Cron.parse(expression, BERLIN), timezone=BERLIN)
    since = min(settled, NOW - DAY)
    return ClockedJob(Job(1, 3, definition, since, since, since, since), due, settled)


@pytest.mark.parametrize(
    ("was", "due", "settled", "comes"),
    [
        # Berlin is two hours east in July. Noon was to come at ten if it was, at nine if it was
        # three, and at eleven if it was one. It is noon in Greenwich.
        pytest.param(3, 21, -3, 22, id="what lies ahead moves"),
        pytest.param(1, 23, -1, 22, id="to earlier, too"),
        pytest.param(2, 22, -2, 22, id="what is right stays"),
        pytest.param(3, -3, -27, -2, id="what nobody has fired moves"),
        pytest.param(-1, 1, -23, -2, id="what has passed by now is due at once"),
        pytest.param(3, 21, -2, 22, id="what has its fate has no other"),
    ],
)
def test_an_entry_keeps_the_time_that_it_stood_for(was, due, settled, comes):
    before = Offsets(*YEARS, ((YEARS[0], was * 3600),))
    coming = a_coming("0 12 * * *", NOW + due * HOUR, NOW + settled * HOUR)

    change = moved(coming, BERLIN, before, now=NOW)

    if comes == due:
        assert change is None
        return
    assert change is not None
    assert change.job is not None
    entry = NOW + comes * HOUR
    assert change.entry == entry
    assert (change.job.version, change.job.since) == (4, change.cut)
    assert coming.job.since <= change.cut < min(coming.due, entry)
    again = ClockedJob(change.job, entry, settled)
    assert moved(again, BERLIN, before, now=NOW) is None


@pytest.mark.parametrize(
    ("version", "release"),
    [("2025b (system)", "2025b"), ("2026.6 (package tzdata)", "2026f"), ("unknown", "")],
)
def test_releases_are_compared_by_their_bare_names(monkeypatch, version, release):
    monkeypatch.setattr(tzdata, "tzdata_version", lambda: version)

    assert tzdata.tzdata_release() == release
