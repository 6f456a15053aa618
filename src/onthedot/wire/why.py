"""An explanation on the wire."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from onthedot.core.why import Finding, Severity, summary


class FindingOut(Struct, kw_only=True, frozen=True, rename="camel"):
    """One check, in the order of the way of a run."""

    check: Annotated[str, Meta(examples=["paused"])]
    verdict: Severity
    found: Annotated[str, Meta(examples=["no scheduler is alive"])]
    fix: Annotated[str | None, Meta(description="What to do about it, if anything is to be done.")]


class WhyOut(Struct, kw_only=True, frozen=True, rename="camel"):
    """`summary` is the first problem, else the first note."""

    job_id: str
    run_id: Annotated[str | None, Meta(description="Null if a job was asked about.")]
    summary: str
    findings: list[FindingOut]


def why_out(job_id: str, run_id: str | None, findings: list[Finding]) -> WhyOut:
    shown = [
        FindingOut(check=each.check, verdict=each.verdict, found=each.found, fix=each.fix or None)
        for each in findings
    ]
    return WhyOut(job_id=job_id, run_id=run_id, summary=summary(findings), findings=shown)
