"""The notifier: what failed is told until somebody has received it, or for a day."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping

from onthedot.core.instants import DAY, HOUR, MINUTE, SECOND
from onthedot.core.notifying import signature
from onthedot.core.outcomes import Result
from onthedot.errors import StoreUnavailable
from onthedot.roles.notifier import ANSWER_S, GROUP_MAX, LEASE_US, POLL_S, NoticeDelivery, Notifier
from tests.support.builders import a_held_run, a_job, a_node, failed
from tests.support.roles import INSTALLATION, Failing, FixedChance, living

URL = "https://example.com/pager"
SECRET = "a secret of the tests"


class Pager:
    """Receives notices, and answers as it is told."""

    def __init__(self) -> None:
        self.got: list[tuple[bytes, Mapping[str, str]]] = []
        self.answer: Result | BaseException = Result()
        self.takes_s = 0.0
        self.called = asyncio.Event()

    async def __call__(self, url: str, body: bytes, headers: Mapping[str, str]) -> Result:
        assert url == URL
        self.got.append((body, headers))
        self.called.set()
        await asyncio.sleep(self.takes_s)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    @property
    def runs(self) -> list[str]:
        return [json.loads(body)["runId"] for body, _ in self.got]


def a_notifier(store, clock, pager, *secrets):
    return Notifier(store, clock, FixedChance(), NoticeDelivery(pager, secrets), INSTALLATION)


async def failures(store, clock, count=1):
    node = await a_node(store, clock)
    job = await a_job(store, clock, on_failure_url=URL)
    held = [await a_held_run(store, clock, node, job) for _ in range(count)]
    await store.runs.finish(node, [failed(run, clock) for run in held], now=clock.now())
    return held


async def test_a_failed_run_is_told_once_with_its_signature(store, clock):
    pager = Pager()
    notifier = a_notifier(store, clock, pager, SECRET)
    [run] = await failures(store, clock)

    pauses = [await notifier.step(), await notifier.step()]

    assert pauses == [POLL_S, POLL_S]
    [(body, headers)] = pager.got
    assert json.loads(body)["runId"] == f"{INSTALLATION}-{run.job:x}-{run.run:x}"
    assert headers["Idempotency-Key"] == json.loads(body)["deliveryId"]
    assert headers["Onthedot-Signature"] == signature([SECRET], body, at=clock.now())
    assert notifier.tally.notices == {"delivered": 1}


async def test_without_a_secret_there_is_no_signature(store, clock):
    pager = Pager()
    await failures(store, clock)

    await a_notifier(store, clock, pager).step()

    assert "Onthedot-Signature" not in pager.got[0][1]


async def test_what_was_not_received_is_sent_again_the_same_and_signed_anew(store, clock):
    pager = Pager()
    notifier = a_notifier(store, clock, pager, SECRET)
    [run] = await failures(store, clock)
    pager.answer = Result(error="HTTP 503 Service Unavailable")
    await notifier.step()
    await notifier.step()
    pager.answer = Result()
    clock.advance(2 * SECOND)
    await notifier.step()

    (first, signed), (second, signed_anew) = pager.got
    assert first == second
    assert signed["Onthedot-Signature"] != signed_anew["Onthedot-Signature"]
    assert notifier.tally.notices == {"put_off": 1, "delivered": 1}
    assert await store.outbox.get(run.job, run.run) is None


async def test_a_receiver_that_does_not_answer_is_left_after_a_while(store, clock):
    pager = Pager()
    pager.takes_s = 10 * ANSWER_S
    notifier = a_notifier(store, clock, pager)
    [run] = await failures(store, clock)
    began = clock.now()

    await notifier.step()

    assert clock.now() - began == ANSWER_S * SECOND < LEASE_US
    view = await store.outbox.get(run.job, run.run)
    assert view is not None
    assert view.trouble == "timed out after 10 s"


async def test_a_notice_that_cannot_even_be_sent_holds_nobody_up(store, clock):
    pager = Pager()
    pager.answer = RuntimeError("no such luck")
    notifier = a_notifier(store, clock, pager)
    runs = await failures(store, clock, 2)

    await notifier.step()

    views = [await store.outbox.get(run.job, run.run) for run in runs]
    assert {view and view.trouble for view in views} == {
        "it cannot be sent: RuntimeError: no such luck"
    }


async def test_after_a_day_a_notice_is_given_up_and_can_be_seen(store, clock):
    pager = Pager()
    pager.answer = Result(error="HTTP 500")
    notifier = a_notifier(store, clock, pager)
    [run] = await failures(store, clock)
    failed_at = clock.now()

    while "given_up" not in notifier.tally.notices:
        await notifier.step()
        clock.advance(MINUTE)

    assert DAY <= clock.now() - failed_at <= DAY + HOUR
    assert 25 <= len(pager.got) <= 60
    view = await store.outbox.get(run.job, run.run)
    assert view is not None
    assert (view.at, view.trouble) == (None, "HTTP 500")
    clock.advance(DAY)
    await notifier.step()
    assert len(pager.got) == view.tries


async def test_what_was_delivered_is_not_sent_again_when_the_store_was_away(faulty, store, clock):
    pager = Pager()
    notifier = a_notifier(faulty, clock, pager)
    [run] = await failures(store, clock)
    faulty.on("outbox.settle", Failing(StoreUnavailable("away"), times=1))
    try:
        await notifier.step()
    except StoreUnavailable:
        clock.advance(SECOND)

    await notifier.step()

    assert len(pager.got) == 1
    assert await store.outbox.get(run.job, run.run) is None


async def test_who_stood_still_for_its_lease_after_taking_a_notice_does_not_send_it(
    faulty, store, clock
):
    pager = Pager()
    await failures(store, clock)

    async def stands_still(verb, **kwargs):
        taken = await verb(**kwargs)
        clock.advance(LEASE_US)
        return taken

    faulty.on("outbox.take", stands_still)
    await a_notifier(faulty, clock, pager).step()

    assert pager.got == []
    await a_notifier(store, clock, pager).step()
    assert len(pager.got) == 1


async def test_two_notifiers_share_the_work_and_send_nothing_twice(store, clock):
    pager = Pager()
    pager.takes_s = 1.0
    one, other = (a_notifier(store, clock, pager) for _ in range(2))
    await failures(store, clock, GROUP_MAX + 5)

    pauses = await asyncio.gather(one.step(), other.step())

    assert sorted(pauses) == [0.0, POLL_S]
    assert len(pager.runs) == len(set(pager.runs)) == GROUP_MAX + 5


async def test_what_a_dead_notifier_had_taken_is_taken_over(store, clock):
    pager = Pager()
    pager.takes_s = 5.0
    [run] = await failures(store, clock)
    dying = asyncio.create_task(a_notifier(store, clock, pager).step())
    await pager.called.wait()
    dying.cancel()
    await asyncio.wait([dying])
    other = a_notifier(store, clock, pager)
    await other.step()
    assert len(pager.got) == 1
    clock.advance(LEASE_US)

    await other.step()

    assert len(pager.got) == 2
    assert await store.outbox.get(run.job, run.run) is None


async def test_a_worker_tells_of_a_failure_at_once_and_finishes_telling_when_it_drains(
    store, clock
):
    pager = Pager()
    pager.takes_s = 2.0
    job = await a_job(store, clock, on_failure_url=URL, retries=0)
    async with living(store, clock, postbox=NoticeDelivery(pager)) as node:
        node.runner.answer(Result(error="HTTP 500"))
        await store.runs.enqueue(job.id, due=clock.now(), payload=None, now=clock.now())
        began = clock.now()
        await pager.called.wait()
        assert clock.now() - began < 1.5 * SECOND
        await node.drained()

    assert len(pager.runs) == 1
    assert (await store.ledger.backlog(most=10, now=clock.now())).notices == 0
