"""The short form of the crash points: every call that changes something, and then some."""

from __future__ import annotations

import os

import pytest

from tests.simulation.command import reports
from tests.simulation.line import Fault
from tests.simulation.points import FAULTS, Point, play, point_named, short_points
from tests.simulation.scenarios import SCENES
from tests.tiers import QUICK, share

CORES = os.cpu_count() or 1


@pytest.mark.timeout(600)
def test_whatever_strikes_wherever_what_is_left_is_sound():
    points = share(list(short_points()), 10)

    failed = {each.kinds[0]: each.violations for each in reports(points, CORES) if each.violations}

    assert len(points) > (50 if QUICK else 500)
    if not QUICK:
        assert {point.fault for point in points} >= set(FAULTS) - {Fault.FULL, Fault.HANG_BEFORE}
    assert not failed, f"told by python3 dev.py simulate --point …: {failed}"


@pytest.mark.parametrize("scene", SCENES)
def test_each_scene_is_sound_without_faults_and_starts_something(scene: str):
    report, clean = play(scene, None)

    assert not report.violations
    assert len(clean.calls) > 20
    assert report.starts or scene == "cancel_what_waits"


def test_a_point_can_be_named_and_found_again():
    point = Point("fire", 24, Fault.CANCEL_AFTER)

    assert str(point) == "fire/24/cancel-after"
    assert point_named(str(point)) == point


def test_a_point_strikes_the_call_it_names_and_no_other():
    _, clean = play("fire", None)
    number = clean.calls.index("Clock.fire") + 1

    report, struck = play("fire", Point("fire", number, Fault.DIE_AFTER))

    faults = [line for line in report.story if "FAULT" in line]
    assert struck.calls[:number] == clean.calls[:number]
    assert len(faults) == 1
    assert "die after Clock.fire" in faults[0]
