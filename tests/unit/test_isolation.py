"""Which functions want a process of their own, and what may be said about it."""

from __future__ import annotations

import pytest

from onthedot import App
from onthedot.errors import Invalid
from onthedot.sdk.isolation import Isolation, in_words, isolation_of


@pytest.mark.parametrize(
    ("limit", "size", "words"),
    [
        ("512MB", 512 * 10**6, "512 MB"),
        ("2 GB", 2 * 10**9, "2 GB"),
        ("1.5gb", 1_500 * 10**6, "1500 MB"),
        ("256MiB", 256 * 2**20, "256 MiB"),
        (200_000_000, 200_000_000, "200 MB"),
    ],
)
def test_a_memory_limit_is_a_size(limit, size, words):
    assert isolation_of("process", limit) == Isolation(size)
    assert in_words(size) == words


@pytest.mark.parametrize(
    ("isolation", "limit", "words"),
    [
        ("thread", None, "isolation='thread' is not known"),
        (None, "512MB", "memory_limit='512MB' needs a process of its own"),
        ("process", "much", "memory_limit='much' is not a size"),
        ("process", True, "memory_limit=True is not a size"),
        ("process", "5 MB", "memory_limit='5 MB' is too little"),
    ],
)
def test_nonsense_is_refused_where_it_is_declared(isolation, limit, words):
    with pytest.raises(Invalid, match=words):
        App().job(isolation=isolation, memory_limit=limit)(print_nothing)


def test_a_process_of_its_own_is_the_functions_affair_and_no_field_of_the_job():
    made = App().job(name="n", isolation="process", timeout=5)(print_nothing)

    assert made.isolation == Isolation()
    assert made.declaration() == {"name": "n", "key": "n", "handler": "n", "timeout": 5}
    assert App().job(name="n")(print_nothing).isolation is None


def print_nothing() -> None: ...
