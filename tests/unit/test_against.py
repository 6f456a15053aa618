"""A bench of two commits: medians with their spread, and no figures where there are none."""

from __future__ import annotations

import pytest

from bench.against import Failed, check_out, main, rows


def test_medians_of_both_are_shown_with_their_spread_and_their_ratio():
    ours = [{"runsPerSecond": value} for value in (30, 10, 20)]
    others = [{"runsPerSecond": value} for value in (40, 50, 30)]

    assert rows(ours, others) == [("runsPerSecond", "20 (10 to 30)", "40 (30 to 50)", "0.500")]


def test_what_one_of_them_cannot_tell_is_left_out():
    ours = [{"lost": 0, "walBytesPerRun": None, "new": 1, "about": {"python": "3"}}]
    others = [{"lost": 0, "walBytesPerRun": 5, "about": {"python": "3"}}]

    assert rows(ours, others) == [("lost", "0 (0 to 0)", "0 (0 to 0)", "-")]


def test_a_commit_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(Failed, match="there is no commit 'nonesuch'"):
        check_out("nonesuch", tmp_path)


def test_the_source_of_a_commit_is_checked_out(tmp_path):
    check_out("HEAD", tmp_path)

    assert (tmp_path / "src" / "onthedot" / "__init__.py").exists()


def test_a_bench_has_to_be_named(capsys):
    assert main(["--against", "HEAD", "--repeat", "1"]) == 2
    assert "no bench is named" in capsys.readouterr().err
