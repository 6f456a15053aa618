"""`dev.py bench peers`: what it counts with, before anybody is measured."""

from __future__ import annotations

import struct

import pytest

from bench.peers import __main__ as command
from bench.peers.installing import OWN_DRIVERS
from bench.peers.measuring import Failed, Seat, seconds_of, trouble
from bench.peers.report import HEADINGS, Figures, Found, best, number
from bench.peers.roster import ENGINE, OURS, PARTS, PEERS

GRAPHILE, CELERY = (
    next(peer for peer in PEERS if peer.name == name) for name in ("graphile-worker", "celery")
)


def test_a_ratio_is_between_the_best_of_each():
    found = Found()
    for rate in (9_000.0, 10_000.0):
        found.add("drained", OURS, {"perSecond": rate})
    for rate in (5_000.0, 2_000.0):
        found.add("drained", "other", {"perSecond": rate})

    assert found.ratio("other") == 0.5
    assert found.ratio(OURS) == 1.0
    assert found.ratio("nobody") is None


def test_the_least_late_repeat_is_the_best():
    repeats: list[Figures] = [{"p99Ms": 9.0}, {"p99Ms": 7.0}, {"p99Ms": None}]

    assert best(repeats) == {"p99Ms": 7.0}


def test_a_row_has_a_cell_for_every_heading():
    found = Found()
    found.add("drained", OURS, {"perSecond": 12_345.6, "serverMicrosPerRun": 61.24})
    found.add("lateness", OURS, {"p50Ms": 1.0, "p99Ms": 2.0, "maxMs": 3.0, "started": 1_000})
    found.add("recurring", OURS, {"perSecond": 999.0, "wantedPerSecond": 1_000})

    for part in PARTS:
        [row] = found.rows(part)
        assert len(row) == len(HEADINGS[part])
    assert found.rows("drained") == [(OURS, "12,346", "1.00", "12,346", "61.2", "-", "-")]


def test_the_json_has_every_repeat_and_who_is_missing():
    found = Found()
    found.add("drained", OURS, {"perSecond": 1.0})
    found.add("drained", OURS, {"perSecond": 2.0})
    found.lacks("drained", "celery", "there is no redis-server")

    drained = found.as_json()["drained"]

    assert drained == {
        "peers": {
            OURS: {
                "perSecond": 2.0,
                "repeats": [{"perSecond": 1.0}, {"perSecond": 2.0}],
                "timesOurs": 1.0,
            }
        },
        "missing": {"celery": "there is no redis-server"},
    }


def test_a_driver_says_in_its_last_line_how_long_it_took():
    assert seconds_of(b'loading\n{"seconds": 1.5}\n') == 1.5
    with pytest.raises(Failed, match="did not say how long it took: loading"):
        seconds_of(b"loading\n")


def test_of_all_that_a_driver_says_the_error_is_told():
    assert trouble(b"Traceback\n  Error: no such table\n\nNode.js v24\n") == "Error: no such table"
    assert trouble(b"") == "it said nothing"


def test_notes_of_all_processes_are_read_and_half_a_note_is_not(tmp_path):
    (tmp_path / "1").write_bytes(struct.pack("<dd", 10.5, 10.0))
    (tmp_path / "2").write_bytes(struct.pack("<dd", 11.0, 0.0) + b"half")

    assert sorted(Seat(GRAPHILE, {}, tmp_path).notes()) == [(10.5, 10.0), (11.0, 0.0)]


def test_everybody_is_measured_once_before_anybody_is_measured_again():
    cancel_requests = command._parser().parse_args(
        ["--only", OURS, "engine-none", "--parts", "drained", "lateness", "--repeat", "2"]
    )

    assert list(command._plan(cancel_requests)) == [
        (1, "drained", OURS),
        (1, "drained", "engine-none"),
        (2, "drained", OURS),
        (2, "drained", "engine-none"),
        (1, "lateness", OURS),
        (2, "lateness", OURS),
    ]


def test_what_cannot_be_measured_is_named_with_its_reason():
    missing = {"redis": "no redis-server", "node": "npm failed"}

    assert command._why_not("drained", CELERY, missing) == "no redis-server"
    assert command._why_not("drained", GRAPHILE, missing) == "npm failed"
    assert "no seconds" in command._why_not("recurring", GRAPHILE, {})
    assert command._why_not("drained", GRAPHILE, {}) == ""


def test_names_are_different_and_every_driver_is_there():
    names = [*(peer.name for peer in PEERS), *ENGINE]

    assert len(set(names)) == len(names)
    for peer in PEERS:
        assert (OWN_DRIVERS / peer.driver).is_file()
        assert bool(peer.left) != peer.on_redis


def test_a_number_that_is_none_is_refused(capsys):
    with pytest.raises(SystemExit):
        command.main(["--runs", "0"])

    assert "'0' is not an integer from 1 on" in capsys.readouterr().err


def test_numbers_are_short_and_readable():
    assert [number(value) for value in (None, 0.25, 99.94, 12_345.6)] == [
        *("-", "0.2", "99.9", "12,346"),
    ]
