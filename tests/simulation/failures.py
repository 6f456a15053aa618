"""The rules about what failed: letters are dealt with once, and whoever asked is told."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise

from tests.simulation.books import FOREVER, Books
from tests.simulation.effects import LEASE, died_with, is_quarantined, was_troubled
from tests.simulation.history import Ask, Effect, History, Told
from tests.simulation.oracle import SECOND
from tests.simulation.suspicion import Suspicion

DEATHS_MAX = 3
CALLED_BEFORE = SECOND // 100
"""So long before it starts a call may have been given to its runner."""

OTHERS = 60 * SECOND
RETIRING_MAX = 4
FAILED = frozenset({"failed", "lost"})
UNCERTAIN = frozenset({None, 503, 507})
"""It may have happened all the same."""


# Dead letters


def a_letter_is_redriven_once(books: Books) -> Iterator[str]:
    """One new run, which names the failed one and is due when that was."""
    made: dict[str, list[str]] = defaultdict(list)
    for run_id, old in books.redriven.items():
        made[old].append(run_id)
        failed, again = books.runs.get(old), books.runs[run_id]
        if failed is not None and failed["status"] not in FAILED:
            yield f"redriven: {old}, which is {failed['status']}"
        if failed is not None and failed["scheduledFor"] != again["scheduledFor"]:
            yield f"redriven: {run_id} is due at another instant than {old}"
        if not any(_redrives(asked, old, again["jobId"]) for asked in books.history.asks):
            yield f"redriven: {old}, which nobody asked for"
    for old, runs in made.items():
        if len(runs) > 1:
            yield f"redriven twice: {old} as {sorted(runs)}"
    for asked, old, run_id in _redrives_answered(books.history):
        if books.redriven.get(run_id) != old:
            yield f"lost: {old} was redriven as {run_id} ({asked.what}), which does not name it"


def a_letter_is_redriven_or_dismissed(books: Books) -> Iterator[str]:
    """Not both, and each only once."""
    redriven = set(books.redriven.values())
    dismissed = Counter(asked.run_id for asked in books.history.asks if _dismissed(asked))
    for run_id, times in dismissed.items():
        if times > 1:
            yield f"dismissed {times} times: {run_id}"
        if run_id in redriven:
            yield f"dismissed and redriven: {run_id}"


def what_is_dealt_with_is_no_letter_any_more(books: Books) -> Iterator[str]:
    """From the answer on, nobody sees it among the letters."""
    gone: dict[str, int] = {}
    for asked in books.history.asks:
        if _dismissed(asked) and asked.run_id is not None:
            gone[asked.run_id] = asked.answered_at or FOREVER
    for asked, old, _ in _redrives_answered(books.history):
        gone[old] = asked.answered_at or FOREVER
    for asked in books.history.asks:
        if asked.what in ("letters", "last letters") and asked.status == 200:
            for letter in asked.answer["deadLetters"]:
                if asked.sent_at > gone.get(letter["runId"], FOREVER):
                    yield f"dealt with, and still a letter: {letter['runId']}"


def what_failed_is_a_letter(books: Books) -> Iterator[str]:
    """In the end a failed run is among the letters once, unless somebody dealt with it."""
    pages = [a for a in books.history.asks if a.what == "last letters" and a.status == 200]
    listed = Counter(letter["runId"] for page in pages for letter in page.answer["deadLetters"])
    for run_id, times in listed.items():
        run = books.runs.get(run_id)
        if times > 1:
            yield f"a letter {times} times: {run_id}"
        if run is not None and run["status"] not in FAILED:
            yield f"a letter that did not fail: {run_id} is {run['status']}"
    redriven = set(books.redriven.values())
    for run_id, run in books.runs.items():
        if run["status"] not in FAILED or run_id in listed or run_id in redriven:
            continue
        if not any(_may_end(asked, run_id, run["jobId"]) for asked in books.history.asks):
            yield f"lost: {run_id} failed and is no letter, and nobody dealt with it"


def _redrives(asked: Ask, run_id: str, job_id: str) -> bool:
    if asked.what == "redrive all":
        return asked.job_id == job_id
    return asked.what == "redrive" and asked.run_id == run_id


def _redrives_answered(history: History) -> Iterator[tuple[Ask, str, str]]:
    """(the request, the failed run, the new one)"""
    for asked in history.asks:
        if asked.status == 202 and asked.what in ("redrive", "redrive all"):
            for made in asked.answer.get("runs", [asked.answer]):
                yield asked, made["redriveOf"], made["runId"]


def _dismissed(asked: Ask) -> bool:
    return asked.what == "dismiss" and asked.status == 204


def _may_end(asked: Ask, run_id: str, job_id: str) -> bool:
    """Whether the letter may be gone by this request; a redrive that was not answered may have made
    a run of which nobody has heard, if the job was deleted.
    """
    if asked.what in ("dismiss", "redrive") and asked.run_id == run_id:
        return asked.status == 204 or asked.status in UNCERTAIN
    if asked.what == "dismiss all" and asked.job_id == job_id:
        return asked.status == 200 or asked.status in UNCERTAIN
    return asked.what == "redrive all" and asked.job_id == job_id and asked.status in UNCERTAIN


# Runner processes


def a_quarantine_is_deserved(books: Books) -> Iterator[str]:
    """Only a run that was alone in three runners when they died, of one process."""
    for run_id, run in books.runs.items():
        if is_quarantined(run):
            alone = Counter(effect.process for effect in _died_alone(books, run_id, run["attempt"]))
            if max(alone.values(), default=0) < DEATHS_MAX:
                yield f"quarantined: {run_id}, though it was alone in {sum(alone.values())} deaths"


def a_killer_is_stopped(books: Books) -> Iterator[str]:
    """Nobody calls it again after three deaths alone; the one before, among others, comes first."""
    for run_id, starts in books.effects.items():
        if len(starts) <= DEATHS_MAX + 1:
            continue
        for attempt, process in sorted({(effect.attempt, effect.process) for effect in starts}):
            died = [e for e in _died_alone(books, run_id, attempt) if e.process == process]
            if len(died) <= DEATHS_MAX + 1:
                continue
            if not was_troubled(books.history, process, died[0].started_at, died[-1].started_at):
                yield f"not stopped: {run_id} killed {len(died)} runners of {process}, alone"


def a_suspect_is_alone(books: Books) -> Iterator[str]:
    """Who was in a runner when it died is called again in one that nobody else is in; unless its
    worker killed it: then it is known for whom.
    """
    of_runner: dict[str, list[Effect]] = defaultdict(list)
    for effect in books.history.effects:
        if effect.runner is not None:
            of_runner[effect.runner].append(effect)
    for run_id, starts in books.effects.items():
        for before, after in pairwise(starts):
            same = (before.process, before.attempt) == (after.process, after.attempt)
            if before.runner in books.history.runner_kills:
                continue
            if same and after.runner is not None and _is_within_one_call(books, before, after):
                if len(of_runner[after.runner]) > 1:
                    yield f"a suspect among others: {run_id} as {after.name} in {after.runner}"


def a_killer_is_called_alone(books: Books) -> Iterator[str]:
    """A function that crashes its runners or does not end, until it is trusted again."""
    suspicion = Suspicion(books)
    for effect in books.history.effects:
        if effect.runner is None or suspicion.is_alone(effect):
            continue
        since = suspicion.kills_since(effect, effect.started_at - CALLED_BEFORE)
        if since is not None and suspicion.kills(effect, effect.started_at):
            if not was_troubled(books.history, effect.process, since, effect.started_at):
                yield f"a killer among others: {effect.run_id} as {effect.name} in {effect.runner}"


def what_may_start_once_is_among_its_like(books: Books) -> Iterator[str]:
    """No plain function can take it down: its runners call nothing else."""
    kinds: dict[str, set[bool]] = defaultdict(set)
    for effect in books.history.effects:
        book = books.jobs.get(effect.job_id)
        if effect.runner is not None and book is not None:
            guarantees = {version.job["guarantee"] == "at_most_once" for version in book.versions}
            kinds[effect.runner] |= guarantees if len(guarantees) == 1 else set()
    for runner, found in kinds.items():
        if len(found) > 1:
            yield f"at most once among others: in {runner}"


def who_is_killed_for_others_had_his_time(books: Books) -> Iterator[str]:
    """A worker kills a runner for a call that does not end; the others in there have a minute, as
    long as there are few such runners.
    """
    history = books.history
    for runner in history.runner_kills:
        at = history.runner_deaths[runner]
        inside = [e for e in history.effects if e.runner == runner and e.ended_at == at]
        asked = [effect.asked_at for effect in inside if effect.asked_at is not None]
        unasked = [effect for effect in inside if effect.asked_at is None]
        if not unasked or len(inside) == 1 or (asked and at - min(asked) >= OTHERS):
            continue
        if len(_with_stuck_calls(history, unasked[0].process, at)) <= RETIRING_MAX:
            yield f"killed for others: {unasked[0].run_id} as {unasked[0].name} in {runner}"


def _with_stuck_calls(history: History, process: str, at: int) -> set[str | None]:
    return {
        effect.runner
        for effect in history.effects
        if effect.process == process and effect.asked_at is not None
        if effect.asked_at <= at <= (effect.ended_at or FOREVER)
    }


def _is_within_one_call(books: Books, before: Effect, after: Effect) -> bool:
    """Not after a rescue or a restart, which befall the process, but since the runner was gone."""
    since = before.started_at
    return died_with(books.history, before, after.started_at) and not was_troubled(
        books.history, before.process, since, after.started_at
    )


def _died_alone(books: Books, run_id: str, attempt: int) -> list[Effect]:
    """The starts of it that were alone in a runner when that died."""
    gone = books.history.runner_deaths
    ended = Counter((effect.runner, effect.ended_at) for effect in books.history.effects)
    return [
        effect
        for effect in books.effects.get(run_id, ())
        if effect.attempt == attempt and effect.runner is not None
        if effect.ended_at is not None and effect.ended_at == gone.get(effect.runner)
        if ended[effect.runner, effect.ended_at] == 1
    ]


# Notices


def who_asked_is_told(books: Books) -> Iterator[str]:
    """I14: in the end every failure was received by whoever the job names, whatever befell us."""
    received = {told.run_id for told in books.history.told if told.accepted}
    for run_id, run in books.runs.items():
        book = books.jobs.get(run["jobId"])
        if run["status"] not in FAILED or book is None or run_id in received:
            continue
        always = all(version.job["onFailure"] for version in book.versions)
        if always and not book.gaps and book.deleting_from == FOREVER and not book.muted:
            yield f"nobody was told: {run_id} {run['status']}"


def only_failures_are_told(books: Books) -> Iterator[str]:
    """What is said is true, signed, and the same each time."""
    for run_id, notices in _by_run(books.history).items():
        run = books.runs.get(run_id)
        if any(not told.genuine for told in notices):
            yield f"told without a signature that holds: {run_id}"
        if len({repr(told.said) for told in notices}) > 1 or len({t.key for t in notices}) > 1:
            yield f"told differently: {run_id}"
        if run is None:
            continue
        book, said = books.jobs.get(run["jobId"]), notices[0].said
        if run["status"] not in FAILED:
            yield f"told as failed: {run_id}, which is {run['status']}"
        elif any(said[name] != run[name] for name in TOLD_OF_RUN):
            yield f"told otherwise than it was: {run_id} {said}"
        if book is not None and not book.gaps and not book.muted:
            if not any(version.job["onFailure"] for version in book.versions):
                yield f"told unasked: {run_id}"


def nobody_is_told_twice_without_need(books: Books) -> Iterator[str]:
    """What was received is sent again only if something befell a process that sent it."""
    for run_id, notices in _by_run(books.history).items():
        for before, after in pairwise(notices):
            befell = (
                was_troubled(books.history, sender, before.at - LEASE, after.at)
                for sender in (before.process, after.process)
            )
            if before.accepted and not any(befell):
                yield f"told twice: {run_id} by {before.process}, then by {after.process}"


def _by_run(history: History) -> dict[str, list[Told]]:
    found: dict[str, list[Told]] = defaultdict(list)
    for told in history.told:
        found[told.run_id].append(told)
    return found


TOLD_OF_RUN = (
    *("runId", "jobId", "status", "scheduledFor", "finishedAt", "attempt", "error", "reason"),
)

FAILURE_RULES: tuple[Callable[[Books], Iterator[str]], ...] = (
    a_letter_is_redriven_once,
    a_letter_is_redriven_or_dismissed,
    what_is_dealt_with_is_no_letter_any_more,
    what_failed_is_a_letter,
    a_quarantine_is_deserved,
    a_killer_is_stopped,
    a_suspect_is_alone,
    a_killer_is_called_alone,
    what_may_start_once_is_among_its_like,
    who_is_killed_for_others_had_his_time,
    who_asked_is_told,
    only_failures_are_told,
    nobody_is_told_twice_without_need,
)
