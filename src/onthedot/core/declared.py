"""Jobs that code declares: what a start of the code came to, and what is no longer declared."""

from __future__ import annotations

from dataclasses import dataclass

from onthedot.core.instants import Instant, format_instant
from onthedot.core.why import Finding, Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredJob:
    """What became of the jobs of an app. `gone`: the keys of those that its code has no longer;
    `taken`: of those that are somebody else's jobs and were left alone.
    """

    app: str
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    gone: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()

    def in_words(self) -> str:
        counts = f"{self.added} added, {self.changed} changed, {self.unchanged} unchanged"
        words = [f"{self.app} declares jobs: {counts}, {len(self.gone)} gone"]
        if self.gone:
            first = self.gone[0]
            words.append(
                f"its code has no longer: {_some(self.gone)}. They stay until somebody deletes "
                f"them (onthedot job delete {first}) or the code declares them again."
            )
        if self.taken:
            words.append(
                f"left alone, since they call URLs: {_some(self.taken)}. "
                "Rename the functions, or delete those jobs."
            )
        return "\n".join(words)


def undeclared(app: str, since: Instant, *, job_id: str) -> Finding:
    """What whoever asks about a job is told, if no code declares it any more."""
    found = f"{app} declared it, and its code does so no longer, since {format_instant(since)}"
    return Finding("declared", Severity.NOTE, found, f"onthedot job delete {job_id}")


def _some(keys: tuple[str, ...]) -> str:
    return ", ".join(keys[:5]) + (f" and {len(keys) - 5} more" if len(keys) > 5 else "")
