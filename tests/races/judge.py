"""What must be true after any two verbs have met, whoever went first and however it ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from onthedot.core.instants import Instant
from onthedot.core.model import LeasedRun, is_occurrence, occurrence
from onthedot.core.notifying import Notice
from onthedot.errors import NodeDead, NotFound
from onthedot.store.claims import Finished
from onthedot.store.postgres.clock import FAR_US
from onthedot.store.values import CancelVerdict, Created, Redriven
from tests.races.stage import Race, RolledBack
from tests.races.world import PERIOD

RETRIED = 7
CANCELLED = 3
FAILED = 2
LOST = 6
PAST = 2  # occurrences before the race; a prune may have forgotten the first
AHEAD = 3  # occurrences after it that somebody must stand for

ABOUT_A_RUN = ("cancel", "redrive", "dismiss")
CHANGES = ("edit", "move", "pause", "resume")
SETTLING = ("deliver", "put off", "give up")
DISMISSALS = ("dismiss", "dismiss all")
ENDS_A_HOLD = ("release", "finish", "fail", "retry")
PLACES = ("run", "waiting", "history")
WITHOUT_RHYTHM = ("one_off", "spent", "linked", "link")

Row = dict[str, Any]


def faults(race: Race, alone: Any) -> list[str]:
    """All that is wrong; `alone` is what the second verb answers when nobody else is there."""
    checks = (
        refusals(race, alone),
        places(race),
        fences(race),
        clock_entries(race),
        instants(race),
        deaths(race),
        owners(race),
        deleted_jobs(race),
        cancels(race),
        promises(race),
        letters(race),
        notices(race),
        second_starts(race),
        notes(race),
        chains(race),
    )
    return [f"{race}: {fault}" for check in checks for fault in check]


def refusals(race: Race, alone: Any) -> Iterator[str]:
    first, second = race.answers
    if race.ending == "commit" and isinstance(first, Exception):
        yield f"the first was refused: {first!r}"
    if race.ending == "roll back" and not isinstance(first, RolledBack):
        yield f"the first was not rolled back: {first!r}"
    if not isinstance(second, Exception) or type(second) is type(alone):
        return
    if not isinstance(second, race.second.may):
        yield f"an error that the contract does not know: {second!r}"
    elif race.ending == "roll back":
        yield f"refused because of something that was never committed: {second!r}"
    elif isinstance(second, NodeDead) and race.second.by is not None:
        if not _is_dead(race, race.second.by(race.world)):
            yield "a living node was called dead"
    elif isinstance(second, NotFound) and race.second.name in ABOUT_A_RUN:
        if any(_key(row) == tuple(race.world.run) for table in PLACES for row in race.state[table]):
            yield "a run that is there was not found"
    elif isinstance(second, NotFound) and _job(race) is not None:
        yield "a job that is there was not found"


def places(race: Race) -> Iterator[str]:
    """A run is in exactly one place: live, waiting, or over."""
    count = Counter(_key(row) for table in ("run", "waiting") for row in race.state[table])
    count.update(_key(row) for row in race.state["history"] if row["status"] != RETRIED)
    known = count.keys() | {_key(row) for row in race.state["history"]}
    if race.world.name not in ("one_off", "spent", "linked"):  # there an edit may take it away
        known |= {_key_of(race.world.held)}
    for key in known:
        if count[key] != 1:
            yield f"run {key} is in {count[key]} places"


def fences(race: Race) -> Iterator[str]:
    """They only grow, and one that was overtaken ends nothing."""
    run = tuple(race.world.run)
    for table in PLACES:
        for row in race.state[table]:
            before = _key(row) == run and row["fence"] < race.world.fence
            # An attempt that ended before the race had the fence of its time.
            if before and not (table == "history" and row["status"] == RETRIED):
                yield f"{table} has the run with fence {row['fence']} after {race.world.fence}"
    leased = [_key_of(each) for _, answer in race.committed for each in _leases(answer)]
    for key, times in Counter(leased).items():
        if times > 1:
            yield f"run {key} was leased {times} times"
    accepted = sum(a.accepted for _, a in race.committed if isinstance(a, Finished))
    if accepted > 1:
        yield f"{accepted} outcomes of one attempt were accepted"


def clock_entries(race: Race) -> Iterator[str]:
    """One entry for the armed version, one for every cut; none where nobody looks any more."""
    found = Counter((row["job"], row["version"]) for row in race.state["entry"])
    armed = {(job["id"], job["version"]) for job in race.state["job"] if job["armed"]}
    cut = {(row["job"], row["version"]) for row in race.state["cut"]}
    for version in found.keys() | armed | cut:
        if found[version] != 1 or version not in armed | cut:
            yield f"version {version} has {found[version]} entries, armed or cut: {armed | cut}"
    split = {row["id"]: row["split_until"] for row in race.state["shard"]}
    for row in race.state["entry"]:
        if row["level"] == "far" and row["slot"] < split[row["shard"]] // FAR_US:
            yield f"an entry due {row['due']} is stranded in a far slot that was split"


def instants(race: Race) -> Iterator[str]:
    """Each due instant has one fate, or exactly one that will bring it."""
    if race.world.name in (*WITHOUT_RHYTHM, "twice") or race.first.name == "move":
        return
    if race.second.name == "move" and not isinstance(race.answers[1], Exception):
        return
    job = race.world.job
    first = job.anchor + PAST * PERIOD
    ended = [row["ended_at"] for row in race.state["job_version"] if _is_end(race, row)]
    for due in range(first, first + (AHEAD + 1) * PERIOD, PERIOD):
        count = sum(_fates(race, due)) + sum(_coming(race, due))
        if count > 1 or (count < 1 and not (ended and due > ended[0])):
            yield f"the instant {(due - job.anchor) // PERIOD} has {count} fates"


def _is_end(race: Race, row: Row) -> bool:
    return bool(row["deleted"]) and row["job"] == race.world.job.id


def _fates(race: Race, due: Instant) -> Iterator[bool]:
    for row in _of_job(race, "run", "waiting"):
        yield row["run"] == occurrence(due)
    for row in _of_job(race, "history"):
        if is_occurrence(row["run"]) and row["status"] != RETRIED:
            yield row["due"] <= due <= (row["until"] or row["due"])


def _coming(race: Race, due: Instant) -> Iterator[bool]:
    cuts = {row["version"]: row["cut"] for row in _of_job(race, "cut")}
    for row in _of_job(race, "entry"):
        yield row["due"] <= due <= cuts.get(row["version"], due)
    current = _job(race)
    if current is not None and current["skipping_from"] is not None:
        yield due > current["skipping_from"]


def deaths(race: Race) -> Iterator[str]:
    """Nothing of a dead node is committed after its death."""
    if race.died_meanwhile and race.ending == "commit":
        if not isinstance(race.answers[0], Exception):
            yield "it was committed after the death of its node"
    died_before = race.ending == "commit" and race.first.name in ("bury", "leave")
    if died_before and race.waited and race.second.by is not None:
        node = race.second.by(race.world)
        if _is_dead(race, node) and not isinstance(race.answers[1], Exception):
            yield "it was accepted after the death of its node"


def owners(race: Race) -> Iterator[str]:
    """Whoever holds a run can be found: alive, or dead and still to be relieved of it."""
    nodes = {row["id"]: row for row in race.state["node"]}
    owned = {(row["owner"], *_key(row)) for row in race.state["run"] if row["owner"] is not None}
    for owner, *run in owned:
        if owner not in nodes:
            yield f"run {run} belongs to a node that is forgotten"
        elif nodes[owner]["settled"]:
            yield f"run {run} belongs to a dead node that nobody will look at again"
    for row in race.state["signal"]:
        if (row["node"], *_key(row)) not in owned:
            yield f"a cancel request for {_key(row)} is addressed to a node that does not hold it"


def deleted_jobs(race: Race) -> Iterator[str]:
    """What nobody holds ends with its job; who holds something is told."""
    jobs = {row["id"] for row in race.state["job"]}
    asked = {_key(row) for row in race.state["signal"]}
    for row in race.state["waiting"]:
        if row["job"] not in jobs:
            yield f"run {_key(row)} waits, but its job is gone"
    for row in race.state["run"]:
        if row["job"] not in jobs and row["owner"] is None:
            yield f"run {_key(row)} is left behind by its job"
        if row["job"] not in jobs and row["owner"] is not None and _key(row) not in asked:
            yield f"the holder of run {_key(row)} was not told that its job is gone"


def cancels(race: Race) -> Iterator[str]:
    """Cancelled means over. Asked means that it is over, or that the holder knows."""
    run = tuple(race.world.run)
    over = [row for row in race.state["history"] if _key(row) == run and row["status"] != RETRIED]
    asked = {_key(row) for row in race.state["signal"]}
    for _, answer in race.committed:
        if answer is CancelVerdict.CANCELLED and [row["status"] for row in over] != [CANCELLED]:
            yield "the run was cancelled, but goes on"
        if answer is CancelVerdict.ASKED and not over and run not in asked:
            yield "the cancel was accepted, but nobody will hear of it"


def promises(race: Race) -> Iterator[str]:
    """What was answered is there."""
    there = {_key(row) for table in PLACES for row in race.state[table]}
    jobs = {row["id"] for row in race.state["job"]}
    gone = {row["job"] for row in race.state["job_version"] if row["deleted"]}
    for verb, answer in race.committed:
        for each in _leases(answer):
            if _key_of(each) not in there:
                yield f"{verb.name} gave run {_key_of(each)}, which is nowhere"
        if isinstance(answer, Created) and answer.job is not None:
            if answer.job.id not in jobs | gone:
                yield f"{verb.name} made or found a job that is gone"
            if answer.run is not None and (answer.job.id, answer.run) not in there:
                yield f"{verb.name} made run {answer.run}, which is nowhere"
        if verb.name in CHANGES and race.world.job.id not in jobs | gone:
            yield f"{verb.name} changed a job that is gone"
    yield from _one_off_is_accounted_for(race, there)


def notes(race: Race) -> Iterator[str]:
    """Who has given a run away, or ended it, has nothing to say about it any more."""
    if race.second.name == "note" and race.ending == "commit" and race.first.name in ENDS_A_HOLD:
        if race.answers[1] == 1:
            yield "a note was accepted after its hold had ended"


def letters(race: Race) -> Iterator[str]:
    """A run that failed for good is a letter, or was redriven or dismissed: one of them, once."""
    there = {_key(row) for table in PLACES for row in race.state[table]}
    dead = {_key(row) for row in race.state["dead"]}
    redriven = Counter((row["job"], row["old"]) for row in race.state["redrive"])
    dismissed = any(verb.name in DISMISSALS and answer != 0 for verb, answer in race.committed)
    for row in race.state["redrive"]:
        if _key(row) not in there:
            yield f"run {row['old']} was redriven as {row['run']}, which is nowhere"
    for row in race.state["history"]:
        fates = redriven[_key(row)] + (_key(row) in dead)
        if row["status"] in (FAILED, LOST) and (fates > 1 or (fates == 0 and not dismissed)):
            yield f"the failed or lost run {_key(row)} has {fates} fates as a letter"
    told = {(race.world.job.id, each.old) for _, a in race.committed for each in _redriven(a)}
    if told != redriven.keys():
        yield f"redriven is {set(redriven)}, and told was {told}"
    if told and dismissed:
        yield "the same letter was both redriven and dismissed"


def notices(race: Race) -> Iterator[str]:
    """A run that failed has one notice, until somebody who had it to himself delivered it."""
    failed = {_key(row) for row in race.state["history"] if row["status"] in (FAILED, LOST)}
    noted = {_key(row): row for row in race.state["outbox"]}
    settled = [verb.name for verb, answer in race.committed if verb.name in SETTLING and answer]
    taken = [each for _, answer in race.committed for each in _taken(answer)]
    for key in noted.keys() - failed:
        yield f"there is a notice of run {key}, which did not fail"
    for key in failed:
        if (key in noted) == ("deliver" in settled) and _job(race) is not None:
            yield f"the notice of run {key} is {'still' if key in noted else 'not'} there"
    if taken and settled:
        yield f"one notice was settled ({settled[0]}), and taken by somebody else"
    if len(taken) > 1 or settled.count("deliver") > 1 or {"deliver", "give up"} <= set(settled):
        yield f"one notice was settled by {settled}, and taken {len(taken)} times"
    if "give up" in settled and any(row["at"] is not None for row in noted.values()):
        yield "a notice that was given up is tried again"


def _taken(answer: Any) -> list[Notice]:
    return [each for each in answer if isinstance(each, Notice)] if _is_list(answer) else []


def second_starts(race: Race) -> Iterator[str]:
    """What a dead node may have started, and may start only once, is nobody's to start."""
    if race.world.name != "orphan_once":
        return
    run = tuple(race.world.run)
    for table in ("run", "waiting"):
        for row in race.state[table]:
            if _key(row) == run and (table == "waiting" or row["owner"] != race.world.other):
                yield f"the run can be started a second time: it is in {table}"
    for row in race.state["history"]:
        if _key(row) == run and row["status"] != LOST:
            yield f"the run ended with status {row['status']}, and nobody knows whether it ran"


def chains(race: Race) -> Iterator[str]:
    """A job with a fixed delay has one link: a run that is to come or under way, or is held back.
    Whatever else is due stands in no chain.
    """
    delayed = {row["id"] for row in race.state["job"] if "fixed_delay" in row["definition"]}
    links = {row["job"]: row for row in race.state["chain"]}
    for job in delayed ^ links.keys():
        yield f"the chain of job {job} is {'left behind' if job in links else 'gone'}"
    for job in delayed & links.keys():
        link = links[job]["run"]
        places = [row["run"] for row in _of_job(race, "run", "waiting")]
        due = [run for run in places if is_occurrence(run)]
        if due != [link] and not (due == [] and links[job]["parked"]):
            yield f"the link of job {job} is {link}, and there are {due}"
        if any(row["run"] == link for row in _of_job(race, "history") if row["status"] != RETRIED):
            yield f"the link of job {job} is over, and nobody goes on"


def _redriven(answer: Any) -> list[Redriven]:
    answers = answer if _is_list(answer) else [answer]
    return [each for each in answers if isinstance(each, Redriven)]


def _one_off_is_accounted_for(race: Race, there: set[tuple[int, int]]) -> Iterator[str]:
    job = _job(race)
    if race.world.name != "one_off" or job is None or job["skipping_from"] is not None:
        return
    if not any(number == race.world.job.id and is_occurrence(run) for number, run in there):
        yield "the one occurrence of the job is nowhere"


def _job(race: Race) -> Row | None:
    return next((row for row in race.state["job"] if row["id"] == race.world.job.id), None)


def _of_job(race: Race, *tables: str) -> list[Row]:
    number = race.world.job.id
    return [row for table in tables for row in race.state[table] if row["job"] == number]


def _is_dead(race: Race, node: int) -> bool:
    return any(row["id"] == node and row["dead_at"] is not None for row in race.state["node"])


def _leases(answer: Any) -> list[LeasedRun]:
    return [each for each in answer if isinstance(each, LeasedRun)] if _is_list(answer) else []


def _is_list(answer: Any) -> bool:
    return isinstance(answer, list)


def _key(row: Row) -> tuple[int, int]:
    return row["job"], row["run"]


def _key_of(run: LeasedRun) -> tuple[int, int]:
    return run.job, run.run
