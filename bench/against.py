"""Two commits beside each other: the same bench of both, in turns, in one run.

A machine that others share is twice as fast in one minute as in the next. So single figures of two
commits say little; medians of benches that took turns say more, and their spread says how much.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from onthedot.cli import output

ROOT = Path(__file__).resolve().parent.parent
HERE = "this"
Figures = Mapping[str, Any]


class Failed(Exception):
    """A bench ended without figures, or there is no such commit."""


def main(arguments: Sequence[str] | None = None) -> int:
    options, bench = _parser().parse_known_args(arguments)
    if not bench or bench[0].startswith("-"):
        output.show_error("no bench is named", "Name one: throughput, lateness, http, …")
        return 2
    try:
        with tempfile.TemporaryDirectory(prefix="onthedot-against-") as scratch:
            check_out(options.against, Path(scratch))
            places = {HERE: ROOT, options.against: Path(scratch)}
            found = _measured(places, bench, options.repeat)
    except Failed as error:
        output.show_error(str(error))
        return 1
    _show(found, options.against)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python3 dev.py bench",
        description=__doc__,
        epilog="Everything else goes to `onthedot bench`:"
        " python3 dev.py bench --against HEAD~3 throughput --store postgres --handler none",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--against", metavar="COMMIT", required=True, help="the other commit")
    parser.add_argument("--repeat", type=int, default=3, help="benches of each (default: 3)")
    return parser


def check_out(commit: str, folder: Path) -> None:
    """The source of a commit, in a folder of its own; nothing else of the checkout changes."""
    done = subprocess.run(
        ["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=False
    )
    if done.returncode != 0:
        raise Failed(f"there is no commit '{commit}': {done.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")


def _measured(
    places: Mapping[str, Path], bench: Sequence[str], repeat: int
) -> dict[str, list[Figures]]:
    found: dict[str, list[Figures]] = {name: [] for name in places}
    for turn in range(repeat):
        # Whoever is second finds the machine warmer: so they take turns at being first.
        order = list(places)[:: 1 if turn % 2 == 0 else -1]
        for name in order:
            output.note(f"{turn + 1} of {repeat}: {name}")
            found[name].append(_figures(places[name], bench))
    return found


def _figures(place: Path, bench: Sequence[str]) -> Figures:
    done = subprocess.run(
        [sys.executable, "-m", "onthedot", "bench", *bench, "--json"],
        env=os.environ | {"PYTHONPATH": str(place / "src")},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    try:
        figures = json.loads(done.stdout)
    except ValueError:
        raise Failed(f"the bench ended with {done.returncode} and no figures") from None
    return dict(figures)


def _show(found: Mapping[str, list[Figures]], other: str) -> None:
    about = found[HERE][0].get("about", {})
    output.note(", ".join(f"{name} {value}" for name, value in about.items()))
    output.table(("FIGURE", HERE.upper(), other, "RATIO"), rows(found[HERE], found[other]))


def rows(ours: Sequence[Figures], others: Sequence[Figures]) -> list[tuple[str, str, str, str]]:
    """Of each figure that both have: the medians with their spread, and ours by theirs."""
    shown = []
    for name, value in ours[0].items():
        if not isinstance(value, int | float) or not all(name in each for each in others):
            continue
        mine, theirs = ([each[name] for each in side] for side in (ours, others))
        if None in mine or None in theirs:
            continue
        ratio = f"{median(mine) / median(theirs):.3f}" if median(theirs) else output.MISSING
        shown.append((name, _spread(mine), _spread(theirs), ratio))
    return shown


def _spread(values: Sequence[float]) -> str:
    return f"{median(values):g} ({min(values):g} to {max(values):g})"


if __name__ == "__main__":
    sys.exit(main())
