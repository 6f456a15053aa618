"""Every invoice exactly once, no reminder twice: whoever is killed while examples/billing works."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from tests.crash.billing import Billing, Books
from tests.crash.form import CLUSTER_TIMEOUT_S, KILLS, LONG, SEED
from tests.support.postgres import new_database, programs, shared

TIMES = KILLS if LONG else 3


@pytest.mark.timeout(CLUSTER_TIMEOUT_S)
async def test_on_postgresql_nothing_is_done_twice_or_left_undone(tmp_path):
    server = shared(max(programs()))
    url = server.url(await new_database(server))

    books = Billing(tmp_path, url, Random(f"{SEED}/postgresql")).play(TIMES)

    print(f"ONTHEDOT_CRASH_SEED={SEED}: {books.told()}")
    assert list(books.faults()) == []


@pytest.mark.timeout(CLUSTER_TIMEOUT_S)
def test_on_sqlite_nothing_is_done_twice_or_left_undone(tmp_path):
    books = Billing(tmp_path, None, Random(f"{SEED}/sqlite")).play(TIMES)

    print(f"ONTHEDOT_CRASH_SEED={SEED}: {books.told()}")
    assert list(books.faults()) == []


@pytest.mark.parametrize(
    ("invoices", "reminders", "bill", "remind", "found"),
    [
        (2, 1, "succeeded", "succeeded", "2 invoices"),
        (0, 1, "succeeded", "succeeded", "0 invoices"),
        (1, 1, "failed", "succeeded", "1 invoices"),
        (0, 1, "failed", "succeeded", "was not billed"),
        (1, 2, "succeeded", "lost", "reminded 2 times"),
        (1, 0, "succeeded", "succeeded", "was not reminded"),
        (1, 0, "succeeded", "failed", "ended as failed"),
    ],
)
def test_what_went_wrong_is_found(invoices, reminders, bill, remind, found):
    books = Books(
        invoices=Counter({1: invoices}),
        reminders=Counter({1: reminders}),
        billed={1: {"status": bill, "error": None}},
        reminded={1: {"status": remind, "error": None}},
    )

    assert any(found in fault for fault in books.faults())


def test_sound_books_have_no_fault():
    books = Books(
        invoices=Counter({1: 1}),
        reminders=Counter({1: 1}),
        billed={1: {"status": "succeeded", "error": None}},
        reminded={1: {"status": "lost", "error": "node 1 died"}},
    )

    assert list(books.faults()) == []
