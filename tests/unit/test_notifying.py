"""Notices of failed runs: when they are tried again, and how they are signed."""

from __future__ import annotations

import hashlib
import hmac

import msgspec

from onthedot.core.instants import DAY, HOUR, SECOND
from onthedot.core.notifying import Notice, next_try, signature
from onthedot.core.states import Status
from onthedot.wire.notices import FailureNotice, notice_out

NOW = 1_800_000_000 * SECOND


def a_notice(*, tries: int = 1, status: Status = Status.FAILED, failed_at: int = NOW) -> Notice:
    return Notice(
        *(17, 33, "https://example.com/pager", "reindex", "shop/reindex", status, NOW - SECOND),
        *(2, failed_at, "HTTP 500", "out of attempts", tries),
    )


def said_of(notice: Notice) -> FailureNotice:
    return notice_out(notice, run_id="home-11-21", job_id="job-11")


def test_the_waits_between_tries_grow_up_to_an_hour():
    waits = [next_try(a_notice(tries=n), now=NOW, jitter=0.999999) for n in (1, 2, 5, 13, 30)]

    assert [round((at - NOW) / SECOND) for at in waits if at is not None] == [1, 2, 16, 3600, 3600]


def test_a_notice_is_tried_for_a_day_with_a_last_try_at_its_end():
    nearly = next_try(a_notice(tries=40), now=NOW + DAY - HOUR // 4, jitter=0.5)
    over = next_try(a_notice(tries=40), now=NOW + DAY, jitter=0.5)

    assert nearly == NOW + DAY
    assert over is None


def test_the_signature_is_over_the_instant_and_the_body_for_each_secret():
    body = b'{"type":"run.failed"}'

    found = signature(("first-of-the-secrets", "second-of-the-secrets"), body, at=NOW + 999_999)

    marks = [
        hmac.new(secret, b"1800000000." + body, hashlib.sha256).hexdigest()
        for secret in (b"first-of-the-secrets", b"second-of-the-secrets")
    ]
    assert found == f"t=1800000000,v1={marks[0]},v1={marks[1]}"


def test_what_is_said_names_the_run_its_job_and_what_went_wrong():
    said = msgspec.json.decode(msgspec.json.encode(said_of(a_notice())))

    assert said == {
        "deliveryId": "home-11-21-failure",
        "type": "run.failed",
        "runId": "home-11-21",
        "jobId": "job-11",
        "jobKey": "shop/reindex",
        "jobName": "reindex",
        "status": "failed",
        "scheduledFor": "2027-01-15T07:59:59Z",
        "finishedAt": "2027-01-15T08:00:00Z",
        "attempt": 2,
        "error": "HTTP 500",
        "reason": "out of attempts",
        "why": "/v1/runs/home-11-21/why",
    }


def test_every_try_says_the_same_and_a_lost_run_says_so():
    first, later = said_of(a_notice(tries=1)), said_of(a_notice(tries=9))
    lost = said_of(a_notice(status=Status.LOST))

    assert first == later
    assert (lost.type, lost.status) == ("run.lost", "lost")
