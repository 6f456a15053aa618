"""The client of the SDK against a real server, asynchronous and blocking."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from onthedot import Client
from onthedot.errors import Conflict, Invalid, KeyTaken, NotDead, NotFound, OnthedotError, RunOver
from tests.integration.test_server_kit import OVER, Stage
from tests.support.receiver import Receiver
from tests.support.server import Server


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, receiver: Receiver) -> Iterator[Stage]:
    key = {"ONTHEDOT_API_KEY": "a-key-of-twenty-letters"}
    with Server(tmp_path_factory.mktemp("client"), environment=key) as server:
        yield Stage(server, receiver)


@pytest.fixture
def client(stage: Stage) -> Client:
    return Client(stage.server.url, "a-key-of-twenty-letters")


def url(stage: Stage, path: str = "/ok") -> str:
    return stage.receiver.url + path


async def ended(client: Client, run_id: str):
    async with asyncio.timeout(20):
        while True:
            run = await client.get_run(run_id)
            if run.status in OVER:
                return run
            await asyncio.sleep(0.02)


async def test_a_job_is_made_read_edited_and_deleted(client, stage):
    made = await client.create_job(
        "report",
        key="client/report",
        handler_url=url(stage),
        cron="0 2 * * *",
        timezone="Europe/Berlin",
        catch_up_window=timedelta(minutes=5),
    )

    assert (made.cron_expr, made.catch_up_window) == ("0 2 * * *", 300)
    assert await client.get_job(made.job_id) == made == await client.find_job("client/report")
    edited = await client.edit_job(made.job_id, paused=True, version=made.version)
    assert (edited.paused, edited.version) == (True, 2)
    await client.delete_job(made.job_id)
    with pytest.raises(NotFound):
        await client.get_job(made.job_id)
    with pytest.raises(NotFound, match="no job with the key 'client/report'"):
        await client.find_job("client/report")


async def test_a_list_goes_on_over_its_pages(client, stage, monkeypatch):
    monkeypatch.setattr("onthedot.sdk.client.PAGE", 2)
    made = [await client.create_job(f"listed {n}", handler_url=url(stage)) for n in range(5)]

    async with client:
        listed = await client.list_jobs(limit=5)
        some = await client.list_jobs(limit=3)

    assert [job.job_id for job in listed] == [job.job_id for job in reversed(made)]
    assert some == listed[:3]


async def test_runs_are_made_seen_and_cancelled(client, stage):
    job = await client.create_job("runs", handler_url=url(stage))
    now = await client.trigger_job(job.job_id, payload={"n": 1})
    at = datetime.now(UTC) + timedelta(hours=1)
    later = await client.trigger_job(job.job_id, run_at=at)

    run = await ended(client, now.run_id)
    assert (run.status, run.attempts[0].attempt) == ("succeeded", 1)
    assert (await client.cancel_run(later.run_id)).status == "cancelled"
    with pytest.raises(RunOver):
        await client.cancel_run(now.run_id)
    statuses = {each.run_id: each.status for each in await client.list_runs(job.job_id)}
    assert statuses == {now.run_id: "succeeded", later.run_id: "cancelled"}


async def test_many_runs_go_in_as_few_requests_as_they_fit_into(client, stage):
    job = await client.create_job("many", handler_url=url(stage))
    small = [{"payload": n, "delay": 3600} for n in range(1001)]
    large = [{"payload": "x" * 60_000, "delay": timedelta(hours=1)}] * 5

    made = await client.trigger_job_many(job.job_id, [*small, *large], idempotency_key="many")
    again = await client.trigger_job_many(job.job_id, [*small, *large], idempotency_key="many")

    assert len({run.run_id for run in made}) == 1006
    assert again == made


async def test_dead_letters_are_read_redriven_and_dismissed(client, stage):
    job = await client.create_job("failing", handler_url=url(stage, "/status/500"), retries=0)
    runs = [await client.trigger_job(job.job_id, payload=n) for n in range(3)]
    for run in runs:
        await ended(client, run.run_id)
    first, second, third = (run.run_id for run in runs)

    letters = await client.list_dead_letters(job.job_id)
    assert {letter.run_id for letter in letters} == {first, second, third}
    assert letters[0].run_id in {each.run_id for each in await client.list_dead_letters()}
    assert (await client.get_dead_letter(second)).payload == 1
    assert (await client.redrive_run(first)).redrive_of == first
    await client.dismiss_dead_letter(second)
    with pytest.raises(NotDead):
        await client.get_dead_letter(second)
    assert third in {each.redrive_of for each in await client.redrive_dead_letters(job.job_id)}
    assert await client.dismiss_dead_letters(job.job_id) in range(3)


async def test_calendars_are_made_changed_followed_listed_and_deleted(client, stage, monkeypatch):
    made = await client.put_calendar("client.days", require=["mon-fri"], exclude=["12-25"])
    await client.put_calendar("client.nights", exclude=["08:00-20:00"])
    job = await client.create_job(
        "report", handler_url=url(stage), cron="0 9 * * *", calendar="client.days"
    )

    changed = await client.put_calendar("client.days", require=["mon-fri"], version=made.version)

    assert (made.version, made.require, made.exclude) == (1, ("mon-fri",), ("12-25",))
    assert (changed.version, changed.exclude, changed.jobs) == (2, (), 1)
    assert await client.get_calendar("client.days") == changed
    monkeypatch.setattr("onthedot.sdk.client.PAGE", 1)
    names = [each.name for each in await client.list_calendars()]
    assert names == ["client.days", "client.nights"]
    with pytest.raises(Conflict):
        await client.put_calendar("client.days", exclude=["01-01"], version=1)
    with pytest.raises(Conflict):
        await client.delete_calendar("client.days")
    await client.delete_job(job.job_id)
    await client.delete_calendar("client.days")
    with pytest.raises(NotFound):
        await client.get_calendar("client.days")
    with pytest.raises(Invalid) as refused:
        await client.put_calendar("client.days", exclude=["02-30"])
    assert refused.value.field == "exclude[0]"
    await client.delete_calendar("client.nights")


async def test_a_refusal_is_the_error_that_the_server_names(client, stage):
    await client.create_job("taken", key="taken", handler_url=url(stage))

    with pytest.raises(KeyTaken) as taken:
        await client.create_job("taken", key="taken", handler_url=url(stage))
    assert isinstance(taken.value, Conflict)
    with pytest.raises(Invalid) as wrong:
        await client.create_job("wrong", handler_url=url(stage), retrys=1)
    assert (wrong.value.field, wrong.value.hint) == ("retrys", "Did you mean retries?")
    with pytest.raises(Invalid, match="no time zone"):
        await client.create_job("x", handler_url=url(stage), run_at=datetime(2027, 1, 1))  # noqa: DTZ001
    with pytest.raises(OnthedotError, match="key"):
        await Client(stage.server.url, "another").list_jobs()


async def test_a_repeated_create_with_the_same_key_makes_one_job(client, stage):
    fields = {"handler_url": url(stage), "idempotency_key": "once"}

    assert await client.create_job("once", **fields) == await client.create_job("once", **fields)


def test_the_blocking_twin_does_the_same(client, stage):
    blocking = client.blocking
    job = blocking.create_job("blocking", key="blocking", handler_url=url(stage))

    run = blocking.trigger_job(job.job_id, delay=3600)
    [other] = blocking.trigger_job_many(job.job_id, [{"delay": 3600}])

    assert blocking.find_job("blocking") == blocking.get_job(job.job_id) == job
    assert job.job_id in {each.job_id for each in blocking.list_jobs()}
    assert blocking.edit_job(job.job_id, name="renamed").name == "renamed"
    assert blocking.get_run(run.run_id).status == "scheduled"
    assert blocking.cancel_run(run.run_id).status == "cancelled"
    assert {each.run_id for each in blocking.list_runs(job.job_id)} == {run.run_id, other.run_id}
    assert blocking.list_dead_letters(job.job_id) == []
    with pytest.raises(NotDead):
        blocking.get_dead_letter(run.run_id)
    with pytest.raises(NotDead):
        blocking.redrive_run(run.run_id)
    with pytest.raises(NotDead):
        blocking.dismiss_dead_letter(run.run_id)
    assert blocking.redrive_dead_letters(job.job_id) == []
    assert blocking.dismiss_dead_letters(job.job_id) == 0
    blocking.delete_job(job.job_id)
    calendar = blocking.put_calendar("blocking", exclude=["12-25"])
    assert blocking.list_calendars() == [calendar] == [blocking.get_calendar("blocking")]
    blocking.delete_calendar("blocking")
    assert blocking.list_calendars() == []


def test_the_blocking_twin_has_every_call(client):
    def calls(of: object) -> set[str]:
        return {name for name in vars(type(of)) if not name.startswith("_")}

    assert calls(client.blocking) == calls(client) - {"blocking"}
