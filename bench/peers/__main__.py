"""Others beside ours: the same work, one after the other, on the same PostgreSQL, in one run.

Their libraries are installed when they are first wanted, into .peers; what cannot be installed is
named with the reason, and the rest is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from bench.peers.installing import install, redis_program, versions
from bench.peers.measuring import Bench, Failed, Wanted
from bench.peers.report import HEADINGS, Found
from bench.peers.roster import ENGINE, OURS, PARTS, PEERS, Part, Peer
from bench.peers.servers import Postgres, Redis
from onthedot.cli import output
from onthedot_bench.place import OWN_POSTGRES

NAMES = (*(peer.name for peer in PEERS), *ENGINE)
NUMBERS = {
    "--runs": (50_000, "runs to drain; slow peers get a tenth"),
    "--one-offs": (1_000, "one-offs, a hundred a second"),
    "--schedules": (10_000, "schedules, each every 10 s"),
    "--repeat": (1, "measure everybody so many times"),
    "--limit": (60, "the longest that a drain may take, in seconds"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    wishes = _parser().parse_args(arguments)
    missing = install() if any(_is_foreign(name) for name in wishes.only) else {}
    found = Found()
    try:
        asyncio.run(_measure_all(wishes, missing, found))
    except KeyboardInterrupt:
        say("stopped; what was found so far:")
    _show(found, as_json=wishes.json)
    return 0 if found.figures else 1


async def _measure_all(wishes: argparse.Namespace, missing: dict[str, str], found: Found) -> None:
    began = time.monotonic()
    wanted = Wanted(wishes.runs, wishes.one_offs, wishes.schedules, wishes.limit)
    with ExitStack() as stack:
        postgres = Postgres.open()
        stack.callback(postgres.dispose)
        redis = None
        if any(peer.on_redis for peer in PEERS if peer.name in wishes.only):
            program = redis_program()
            redis = Redis(program) if program else None
        if redis is not None:
            stack.callback(redis.dispose)
        else:
            missing["redis"] = "there is no redis-server here, and none could be installed"
        say("PostgreSQL: " + ", ".join(f"{name} {value}" for name, value in OWN_POSTGRES.items()))
        bench = Bench(postgres, redis, wanted)
        for repeat, part, name in _plan(wishes):
            say(f"{time.monotonic() - began:6.0f} s  {part}, {name}, {repeat} of {wishes.repeat}")
            peer = next((peer for peer in PEERS if peer.name == name), None)
            why = _why_not(part, peer, missing)
            if why:
                found.lacks(part, name, why)
                continue
            try:
                measured = bench.measure(part, peer) if peer else bench.engine(ENGINE[name])
                found.add(part, name, await measured)
            except Failed as problem:
                found.lacks(part, name, str(problem))


def _plan(wishes: argparse.Namespace) -> Iterator[tuple[int, Part, str]]:
    """Everybody once, then everybody again: so a noisy minute does not hit one of them alone."""
    for part in wishes.parts:
        names = [name for name in wishes.only if part == "drained" or name not in ENGINE]
        for repeat in range(1, wishes.repeat + 1):
            for name in names:
                yield repeat, part, name


def _why_not(part: Part, peer: Peer | None, missing: dict[str, str]) -> str:
    if peer is None or peer.name == OURS:
        return ""
    if part in peer.cannot:
        return peer.cannot[part]
    if peer.on_redis and "redis" in missing:
        return missing["redis"]
    return missing.get("node" if peer.on_node_js else "python", "")


def _is_foreign(name: str) -> bool:
    return name != OURS and name not in ENGINE


def _show(found: Found, *, as_json: bool) -> None:
    if as_json:
        about = {
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "postgres": OWN_POSTGRES,
            "versions": versions(),
        }
        output.data_json({"about": about, **found.as_json()})
        return
    for part in found.figures:
        output.data()
        output.table(HEADINGS[part], found.rows(part))
        for peer, why in found.missing.get(part, {}).items():
            output.data(f"{peer}: not measured: {why}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dev.py bench peers", description=__doc__)
    for option, choices in {"--only": NAMES, "--parts": PARTS}.items():
        about = f"some of: {', '.join(choices)}"
        parser.add_argument(
            option, nargs="+", choices=choices, default=choices, metavar="NAME", help=about
        )
    for option, (default, about) in NUMBERS.items():
        shown = f"{about} (default: {default:,})"
        parser.add_argument(option, type=_count, default=default, metavar="N", help=shown)
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not an integer from 1 on")
    return int(text)


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
