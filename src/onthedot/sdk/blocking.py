"""The client for code without an event loop. Every call is the asynchronous one, waited for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Unpack

from onthedot.sdk.background import BACKGROUND
from onthedot.sdk.client import LISTED, Client
from onthedot.wire import (
    DeadLetterDetail,
    DeadLetterOut,
    JobOut,
    RunCancelled,
    RunCreated,
    RunDetail,
    RunOut,
    RunRedriven,
)
from onthedot.wire.calendars import CalendarOut
from onthedot.wire.shapes import CreateKeywords, EditKeywords, TriggerKeywords

_wait = BACKGROUND.run


class BlockingClient:
    """`Client(...).blocking`; what each call does is said there."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def create_job(
        self, name: str, *, idempotency_key: str | None = None, **fields: Unpack[CreateKeywords]
    ) -> JobOut:
        return _wait(self._client.create_job(name, idempotency_key=idempotency_key, **fields))

    def get_job(self, job_id: str) -> JobOut:
        return _wait(self._client.get_job(job_id))

    def find_job(self, key: str) -> JobOut:
        return _wait(self._client.find_job(key))

    def list_jobs(self, *, limit: int = LISTED) -> list[JobOut]:
        return _wait(self._client.list_jobs(limit=limit))

    def edit_job(self, job_id: str, **fields: Unpack[EditKeywords]) -> JobOut:
        return _wait(self._client.edit_job(job_id, **fields))

    def delete_job(self, job_id: str) -> None:
        _wait(self._client.delete_job(job_id))

    def trigger_job(
        self, job_id: str, *, idempotency_key: str | None = None, **fields: Unpack[TriggerKeywords]
    ) -> RunCreated:
        return _wait(self._client.trigger_job(job_id, idempotency_key=idempotency_key, **fields))

    def trigger_job_many(
        self, job_id: str, runs: Iterable[Mapping[str, Any]], *, idempotency_key: str | None = None
    ) -> list[RunCreated]:
        return _wait(self._client.trigger_job_many(job_id, runs, idempotency_key=idempotency_key))

    def get_run(self, run_id: str) -> RunDetail:
        return _wait(self._client.get_run(run_id))

    def list_runs(self, job_id: str, *, limit: int = LISTED) -> list[RunOut]:
        return _wait(self._client.list_runs(job_id, limit=limit))

    def cancel_run(self, run_id: str) -> RunCancelled:
        return _wait(self._client.cancel_run(run_id))

    def redrive_run(self, run_id: str) -> RunRedriven:
        return _wait(self._client.redrive_run(run_id))

    def list_dead_letters(
        self, job_id: str | None = None, *, limit: int = LISTED
    ) -> list[DeadLetterOut]:
        return _wait(self._client.list_dead_letters(job_id, limit=limit))

    def get_dead_letter(self, run_id: str) -> DeadLetterDetail:
        return _wait(self._client.get_dead_letter(run_id))

    def dismiss_dead_letter(self, run_id: str) -> None:
        _wait(self._client.dismiss_dead_letter(run_id))

    def redrive_dead_letters(self, job_id: str) -> list[RunRedriven]:
        return _wait(self._client.redrive_dead_letters(job_id))

    def dismiss_dead_letters(self, job_id: str) -> int:
        return _wait(self._client.dismiss_dead_letters(job_id))

    def put_calendar(
        self,
        name: str,
        *,
        exclude: Iterable[str] = (),
        require: Iterable[str] = (),
        version: int | None = None,
    ) -> CalendarOut:
        put = self._client.put_calendar
        return _wait(put(name, exclude=exclude, require=require, version=version))

    def get_calendar(self, name: str) -> CalendarOut:
        return _wait(self._client.get_calendar(name))

    def list_calendars(self, *, limit: int = LISTED) -> list[CalendarOut]:
        return _wait(self._client.list_calendars(limit=limit))

    def delete_calendar(self, name: str) -> None:
        _wait(self._client.delete_calendar(name))
