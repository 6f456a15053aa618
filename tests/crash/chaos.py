"""Real processes under load while everything befalls them, judged from outside.

python3 dev.py chaos --minutes 10 --seed 7
"""

from __future__ import annotations

import argparse
import io
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path

from tests.crash.checker import repeats, violations
from tests.crash.cluster import NODES, PATIENCE_S, Anywhere, Cluster, a_cluster, alone
from tests.crash.faults import Faults, Ground
from tests.crash.history import History
from tests.crash.load import FUNCTION
from tests.crash.meddling import CANCELLABLE, MEDDLED, Meddler
from tests.crash.planning import ON_POSTGRES, ON_SQLITE, WITH_RUNNERS, Fault, Kind, plan
from tests.crash.redriving import FAILS, Redriver
from tests.support import faketime
from tests.support.disk import DISKS
from tests.support.faketime import WallClock
from tests.support.proxy import Proxy
from tests.support.rest import NoAnswer, eventually
from tests.support.server import Server

MINUTES = 10.0
TELL_EVERY_S = 10.0
TICK_S = 0.05
AT_ONCE = 16
CALM_S = 60.0
SHOWN_MAX = 30
MEDDLERS = 2
MEDDLED_EACH = 8
FAILING = 2
APP = Path(__file__).with_name("chaos_app.py")
FUSED = ("api,scheduler,worker,janitor",) * NODES
SPLIT = ("api,scheduler,worker,janitor", "api,worker,janitor", "api,scheduler,janitor")
LOST = ("lost", "not run", "half", "unseen", "not over")

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """How many Python functions there are beside the callbacks, in how many runners a node."""

    functions: int
    runners: int


CREW = Crew(functions=20, runners=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What came of it. `wrong`: broken promises, one line each."""

    seed: int
    store: str
    seconds: float
    faults: Faults
    history: History
    wrong: Sequence[str]
    stale: int

    def kinds_of_wrong(self) -> Counter[str]:
        return Counter(line.partition(":")[0] for line in self.wrong)

    def summary(self) -> str:
        wrong = self.kinds_of_wrong()
        runs = len(self.history.records)
        return (
            f"chaos: {self.store}, seed {self.seed}, {self.seconds:.0f} s: "
            f"{self.faults.strikes()} kills and stops of {len(self.faults.troubles)} faults, "
            f"{runs} runs ({runs / self.seconds:.0f}/s), {sum(wrong[each] for each in LOST)} lost, "
            f"{wrong['doubled']} recorded twice, {wrong['early']} early, "
            f"{repeats(self.history)} repeats, {self.stale} stale writes refused, "
            f"{sum(record.rescues for record in self.history.records)} rescues, "
            f"{len(self.history.edits)} edits, {len(self.history.cancels)} cancels, "
            f"{sum(len(each.made) for each in self.history.redrives)} redrives, "
            f"{len(self.wrong)} broken promises"
        )


def on_postgres(
    folder: Path, seed: int, seconds: float, tell: Tell, *, crew: Crew = CREW
) -> Report:
    """Three nodes, each with a line to the database and a wall clock of its own."""
    kinds = {
        name: kind
        for name, kind in {**ON_POSTGRES, **WITH_RUNNERS}.items()
        if name != "set clock" or faketime.library() is not None
    }
    with a_rigged_cluster(folder, seed, kinds, crew) as ground:
        ground.cluster.load.create({FUNCTION: crew.functions})
        faults = Faults(ground, kinds)
        ahead = plan(kinds, NODES, seconds, seed, first=["freeze", "kill runner"])
        report = judged("postgres", seed, faults, endure(ground, faults, ahead, seconds, tell))
    if report.stale:
        return report
    toothless = "toothless: nodes were frozen beyond the lease, and no write was refused"
    return replace(report, wrong=[*report.wrong, toothless])


def on_sqlite(folder: Path, seed: int, seconds: float, tell: Tell) -> Report:
    """One server, on a disk that is full now and then."""
    make_disk = DISKS[list(DISKS)[-1]]
    with make_disk() as disk:
        server = Server(disk.folder, environment=disk.environment)
        with alone(server, seed) as cluster:
            ground = Ground(cluster=cluster, disk=disk)
            faults = Faults(ground, ON_SQLITE)
            ahead = plan(ON_SQLITE, 1, seconds, seed, first=["fill disk"])
            report = judged("sqlite", seed, faults, endure(ground, faults, ahead, seconds, tell))
            if not cluster.balancer.full:
                toothless = "toothless: the disk was full, and no client was told"
                report = replace(report, wrong=[*report.wrong, toothless])
        (folder / "server.log").write_text(server.log_text())
    return report


STORES: Mapping[str, Callable[[Path, int, float, Tell], Report]] = {
    "postgres": on_postgres,
    "sqlite": on_sqlite,
}


@contextmanager
def a_rigged_cluster(
    folder: Path, seed: int, kinds: Mapping[str, Kind], crew: Crew
) -> Iterator[Ground]:
    roles = SPLIT if random.Random(seed).random() < 0.5 else FUSED
    lines: list[Proxy] = []
    clocks: list[WallClock] = []
    with ExitStack() as stack:

        def make(number: int, home: Path, url: str) -> Server:
            lines.append(stack.enter_context(Proxy(url, seed)))
            environment: Mapping[str, str] = {}
            if "set clock" in kinds:
                clocks.append(WallClock(home))
                environment = clocks[-1].environment
            shutil.copy(APP, home)
            app = ("--app", f"{APP.stem}:app", "--runners", str(crew.runners))
            options = ["--roles", roles[number], *app]
            return Server(home, url=lines[-1].url, options=options, environment=environment)

        cluster = stack.enter_context(a_cluster(folder, seed, make))
        yield Ground(cluster=cluster, lines=lines, clocks=clocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endured:
    seconds: float
    cluster: Cluster
    history: History


def endure(
    ground: Ground, faults: Faults, ahead: Sequence[Fault], seconds: float, tell: Tell
) -> Endured:
    """All faults, then calm, then the books."""
    cluster = ground.cluster
    meddlers = meddling(cluster)
    began = time.monotonic()
    carry_out(faults, ahead, seconds, Progress(cluster, faults, tell))
    eventually(lambda: all(map(is_sound, cluster.nodes)), "sound nodes", within_s=CALM_S)
    for meddler in meddlers:
        meddler.finish()
        faults.wrong.extend(meddler.wrong)
    lasted_s = time.monotonic() - began
    tell(f"chaos: over, {len(cluster.receiver.calls())} callbacks; now the ledger is read")
    history = cluster.history()
    for meddler in meddlers:
        history = meddler.add_to(history)
    return Endured(seconds=lasted_s, cluster=cluster, history=history)


def meddling(cluster: Cluster) -> list[Meddler | Redriver]:
    """Each with jobs of its own: what one does is not undone by another."""
    kinds = {MEDDLED: MEDDLERS * MEDDLED_EACH, CANCELLABLE: MEDDLERS, FAILS: FAILING}
    cluster.load.create(kinds)
    jobs, cancellable = cluster.load.by_kind[MEDDLED], cluster.load.by_kind[CANCELLABLE]
    chance = random.Random(cluster.chance.random())
    rest = Anywhere(cluster.nodes, chance, timeout_s=PATIENCE_S)
    meddlers: list[Meddler | Redriver] = [
        Redriver(rest, cluster.load.by_kind[FAILS], chance.randrange(1 << 30))
    ]
    for number in range(MEDDLERS):
        chance = random.Random(cluster.chance.random())
        rest = Anywhere(cluster.nodes, chance, timeout_s=PATIENCE_S)
        mine = jobs[number::MEDDLERS]
        meddlers.append(Meddler(rest, mine, cancellable[number], chance.randrange(1 << 30)))
    for meddler in meddlers:
        meddler.start()
    return meddlers


def judged(store: str, seed: int, faults: Faults, endured: Endured) -> Report:
    history = endured.history
    history = replace(history, breaks=[*history.breaks, *faults.breaks()])
    return Report(
        seed=seed,
        store=store,
        seconds=endured.seconds,
        faults=faults,
        history=history,
        wrong=[*violations(history), *endured.cluster.refused, *faults.wrong],
        stale=sum(map(stale_writes, endured.cluster.nodes)),
    )


class Progress:
    """Tells now and then how it goes."""

    def __init__(self, cluster: Cluster, faults: Faults, tell: Tell) -> None:
        self._cluster = cluster
        self._faults = faults
        self._tell = tell
        self._next_s = TELL_EVERY_S
        self._calls = 0

    def at(self, now_s: float) -> None:
        if now_s < self._next_s:
            return
        self._next_s += TELL_EVERY_S
        calls = len(self._cluster.receiver.calls())
        pace = (calls - self._calls) / TELL_EVERY_S
        self._calls = calls
        tally = ", ".join(f"{n} {kind}" for kind, n in self._faults.tally().most_common(4))
        self._tell(
            f"chaos: {now_s:4.0f} s, {calls} callbacks ({pace:.0f}/s), "
            f"{self._faults.strikes()} kills and stops ({tally}, …); "
            f"now: {', '.join(self._faults.under_way) or 'calm'}"
        )


def carry_out(faults: Faults, ahead: Sequence[Fault], seconds: float, progress: Progress) -> None:
    """Each fault at its moment, beside those that still last."""
    coming = list(reversed(ahead))
    begun: list[Future[None]] = []
    began = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as hands:
        while (now_s := time.monotonic() - began) < seconds:
            while coming and coming[-1].at_s <= now_s:
                begun.append(hands.submit(faults.carry_out, coming.pop()))
            progress.at(now_s)
            time.sleep(TICK_S)
    for each in begun:
        each.result()


def is_sound(node: Server) -> bool:
    try:
        return node.rest.get("/health").status == 200
    except NoAnswer:
        return False


def stale_writes(node: Server) -> int:
    """How many outcomes were refused because they came too late, by the node's own word."""
    return sum(map(int, re.findall(r"run\.stale node=\d+ count=(\d+)", node.log_text())))


def main(arguments: Sequence[str]) -> int:
    asked = _parsed(arguments)
    seed = random.randrange(1_000_000) if asked.seed is None else asked.seed
    replay = f"python3 dev.py chaos --store {asked.store} --minutes {asked.minutes:g} --seed {seed}"
    _say(f"chaos: {replay}")
    folder = Path(tempfile.mkdtemp(prefix="onthedot-chaos-"))
    # A server that is closed prints its log, for pytest; here the logs of a failure are kept.
    with redirect_stdout(io.StringIO()):
        report = STORES[asked.store](folder, seed, asked.minutes * 60, _say)
    _say(f"chaos: {dict(report.faults.tally())}")
    for line in report.wrong[:SHOWN_MAX]:
        _say(f"broken: {line}")
    if report.wrong:
        _say(f"again: {replay} (the logs are in {folder})")
    else:
        shutil.rmtree(folder)
    _say(report.summary())
    return 1 if report.wrong else 0


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="dev.py chaos",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--minutes", type=float, default=MINUTES, help=f"how long; {MINUTES:g} unless told"
    )
    parser.add_argument("--seed", type=int, help="the faults of an earlier run, at their moments")
    parser.add_argument(
        "--store",
        choices=list(STORES),
        default="postgres",
        help="three nodes on PostgreSQL (unless told), or one server on SQLite",
    )
    return parser.parse_args(arguments)


def _say(line: str) -> None:
    print(line, file=sys.__stdout__, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
