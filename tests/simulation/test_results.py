"""What the simulation keeps of its runs: each one that ended, as far as it came, and their sum."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.simulation import results
from tests.simulation.command import Tally, main, play_all
from tests.simulation.line import Fault
from tests.simulation.points import Point

POINT = Point("run_once_later", 3, Fault.DIE_AFTER)
FAILED = "failed: seed 12, seed 700"
ASKED = Namespace(jobs=1, stop=False)


class Interrupted(list[Point]):
    """Somebody presses Ctrl-C after the first."""

    def __iter__(self) -> Iterator[Point]:
        yield self[0]
        raise KeyboardInterrupt


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "results.md"


def a_line(what: str, note: str = "", *, commit: str = "abc", **figures: int) -> results.Line:
    played, failed = figures.get("played", 10), figures.get("failed", 0)
    return results.Line("2026-05-12 09:58", commit, what, played, 0.8, 200, 30, failed, 1.5, note)


def test_a_run_is_written_with_its_commit_and_its_seeds(kept: Path):
    assert main(["--seeds", "2", "--seed", "7", "--jobs", "1", "--results", str(kept)]) == 0

    (line,) = results.read(kept)
    assert (line.what, line.played, line.failed, line.note) == ("seeds 7 to 8", 2, 0, "")
    assert line.commit == results.commit()
    assert line.starts > 50
    assert line.faults > 5
    assert line.hours == pytest.approx(2 * 5 / 60, abs=0.1)


def test_what_was_done_before_an_interruption_is_written(kept: Path):
    tally = Tally("points short", kept)

    code = play_all(Interrupted([POINT, POINT, POINT]), ASKED, tally)

    (line,) = results.read(kept)
    assert code == 130
    assert (line.what, line.played, line.note) == ("points short", 1, "interrupted")


def test_who_wants_no_line_gets_none(kept: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(kept.parent)

    assert play_all([POINT], ASKED, Tally("points short", None)) == 0

    assert list(kept.parent.iterdir()) == []


def test_lines_are_added_up_by_their_kind(kept: Path):
    results.add(kept, a_line("seeds 1 to 10"))
    results.add(kept, a_line("planted bugs", failed=1))
    results.add(kept, a_line("seeds 11 to 2010", FAILED, played=2000, failed=2))

    sums = results.add(kept, a_line("points all"))

    assert sums == [
        "2,010 seeds: 1.6 virtual hours, 400 starts of handlers, 60 faults; 2 failed, 2 open",
        "10 planted bugs hunted, 1 not found",
        "10 points: 0.8 virtual hours, 200 starts of handlers, 30 faults; 0 failed, 0 open",
    ]
    assert all(each in kept.read_text() for each in sums)
    assert [line.note for line in results.read(kept)] == ["", "", FAILED, ""]


@pytest.mark.parametrize(
    ("later", "left"),
    [
        (a_line("seeds 11 to 2010"), []),
        (a_line("seeds 12, 700"), []),
        (a_line("seeds 12"), ["seed 700"]),
        (a_line("seeds 100 to 2010", "failed: seed 700"), ["seed 12", "seed 700"]),
        (a_line("seeds 11 to 2010", "interrupted"), ["seed 12", "seed 700"]),
        (a_line("seeds 11 to 2010", commit="abc+"), ["seed 12", "seed 700"]),
        (a_line("points all"), ["seed 12", "seed 700"]),
    ],
)
def test_what_failed_is_open_until_it_was_played_to_its_end(later: results.Line, left: list[str]):
    assert results.still_open([a_line("seeds 11 to 2010", FAILED), later]) == left


def test_what_is_open_is_played_again(kept: Path, capsys: pytest.CaptureFixture[str]):
    again = ["--again", "--jobs", "1", "--results", str(kept)]

    none = main(again)
    results.add(kept, a_line("seeds 1 to 10", "failed: seed 8", failed=1))
    one = main(again)

    assert (none, one) == (0, 0)
    assert capsys.readouterr().out.startswith("no seed is open\n")
    assert [line.what for line in results.read(kept)] == ["seeds 1 to 10", "seeds 8"]


def test_what_ran_with_changes_is_shown_but_not_counted(kept: Path):
    results.add(kept, a_line("seeds 1 to 10", commit="abc+"))

    assert results.add(kept, a_line("seeds 1 to 10"))[0].startswith("10 seeds: ")
    assert "| abc+ |" in kept.read_text()


def test_the_kept_results_are_as_they_were_written():
    assert results.RESULTS.read_text() == results.written(results.read(results.RESULTS))
