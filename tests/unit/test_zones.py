"""The offsets of every zone against its file in the tz database, read here byte by byte."""

import struct
import zoneinfo
from importlib import resources
from itertools import pairwise
from pathlib import Path

import pytest

from onthedot.core.instants import INSTANT_MAX, SECOND
from onthedot.core.schedules.zones import zone_of
from tests.support.cron_chance import ZONES

PARTS = 4


def tz_file(name: str) -> bytes:
    for folder in zoneinfo.TZPATH:
        path = Path(folder, name)
        if path.is_file():
            return path.read_bytes()
    return resources.files("tzdata.zoneinfo").joinpath(*name.split("/")).read_bytes()


def changes(name: str) -> list[tuple[int, int, int]]:
    """(second, offset before, offset after) of every listed DST change."""
    data = tz_file(name)
    header = struct.Struct(">4sc15x6l")
    _, _, ut, std, leaps, times, types, letters = header.unpack_from(data)
    at = header.size + times * 5 + types * 6 + letters + leaps * 8 + std + ut
    _, _, ut, std, leaps, times, types, letters = header.unpack_from(data, at)
    at += header.size
    seconds = struct.unpack_from(f">{times}q", data, at)
    kinds = data[at + 8 * times : at + 9 * times]
    offsets = [struct.unpack_from(">l", data, at + 9 * times + 6 * n)[0] for n in range(types)]
    shown = [offsets[0], *(offsets[kind] for kind in kinds)]
    return [(s, b, a) for s, (b, a) in zip(seconds, pairwise(shown), strict=True) if a != b]


@pytest.mark.parametrize("part", range(PARTS))
def test_every_change_of_the_clocks_since_1970_is_found(part):
    for name in ZONES[part::PARTS]:
        zone = zone_of(name)
        for second, before, after in changes(name):
            if 0 < second <= INSTANT_MAX // SECOND:
                ended, begun = zone.segment(second - 1), zone.segment(second)
                assert (ended.end, ended.offset, ended.after) == (second, before, after), name
                assert (begun.start, begun.before, begun.offset) == (second, before, after), name


def test_changes_are_further_apart_than_the_search_looks():
    nearest = min(
        later - earlier
        for name in ZONES
        for (earlier, *_), (later, *_) in pairwise(changes(name))
        if earlier > 0
    )

    assert nearest > 6 * 86_400


@pytest.mark.parametrize("name", ["UTC", "Asia/Kolkata", "Pacific/Kiritimati"])
def test_segments_follow_each_other_without_holes(name):
    zone, second = zone_of(name), 0
    for _ in range(300):
        segment = zone.segment(second)
        assert segment.start <= second < segment.end
        assert zone.segment(segment.end - 1) == segment
        assert zone.segment(segment.end).before == segment.offset
        second = segment.end
