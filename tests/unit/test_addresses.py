"""The address of a PostgreSQL: its hosts, and what is wrong with it."""

from __future__ import annotations

import pytest

from onthedot.config import load
from onthedot.core.addresses import Address, BadUrl, addresses
from onthedot.errors import WrongUse


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("postgresql://u:p@a/db", [("a", 5432)]),
        ("postgres://a:6543/db", [("a", 6543)]),
        ("postgresql://u@a:1,b,c:3/db", [("a", 1), ("b", 5432), ("c", 3)]),
        ("postgresql://[::1]:7,[fe80::1]/db", [("::1", 7), ("fe80::1", 5432)]),
        ("postgresql:///db", []),
        ("postgresql://u@/db?host=/run/pg&port=5433", [("/run/pg", 5433)]),
        ("postgresql://%2Frun%2Fpg/db", [("/run/pg", 5432)]),
        ("postgresql:///db?host=a,b&port=1,2", [("a", 1), ("b", 2)]),
        ("postgresql:///db?host=a,b&port=9", [("a", 9), ("b", 9)]),
        ("postgresql://a,b/db?target_session_attrs=read-write", [("a", 5432), ("b", 5432)]),
    ],
)
def test_every_host_is_found_in_the_order_given(url, found):
    assert addresses(url) == tuple(Address(*each) for each in found)


BAD = {
    "postgresql://u:hunter2@h:99999/db": ("port '99999'", "from 1 to 65535"),
    "postgresql://u:hunter2@h:0/db": ("port '0'", "from 1 to 65535"),
    "postgresql://u:hunter2@h:abc/db": ("port 'abc'", "from 1 to 65535"),
    "postgresql://u:hunter2@a,b:-1/db": ("port '-1'", "from 1 to 65535"),
    "postgresql://u:hunter2@h:/db": ("port ''", "from 1 to 65535"),
    "postgresql://u:hunter2@a,,b/db": ("empty host", "user@a:5432,b:5432/name"),
    "postgresql://u:hunter2@[::1/db": ("brackets", "user@host:5432/name"),
    "postgresql://u:hunter2@::1/db": ("host '::1'", "brackets, as [::1]"),
    "postgresql://u:hun/ter2@h/db": ("'/', '?' or '#' before the '@'", "%2F"),
    "postgresql://u:hun?ter2@h/db": ("'/', '?' or '#' before the '@'", "%3F"),
    "postgresql://u:hun#ter2@h/db": ("'/', '?' or '#' before the '@'", "%23"),
    "postgresql://u:hunt@r2@h/db": ("more than one '@'", "%40"),
    "postgresql://u:hunter2@h/db#x": ("'#'", "%23"),
    "postgresql://u:hunter2@h/db?sslmode": ("not name=value", "'&'"),
    "postgresql://u:hunter2@h/db?sslmode=maybe": ("sslmode 'maybe'", "verify-full"),
    "postgresql://h/db?password=hunter2&port=x": ("port 'x'", "from 1 to 65535"),
    "postgresql://h/db?password=hunter2&target_session_attrs=rw": (
        "target_session_attrs 'rw'",
        "read-write",
    ),
    "postgresql://u:hunter2@a,b,c/db?port=1,2": ("2 ports for 3 hosts", "one for each"),
}


@pytest.mark.parametrize("url", BAD)
def test_a_malformed_address_is_refused_by_the_part_that_is_wrong(url):
    why, hint = BAD[url]

    with pytest.raises(WrongUse) as caught:
        load({"database": url}, environ={})

    assert caught.value.field == "database"
    assert why in caught.value.message
    assert hint in caught.value.hint
    for secret in ("hunter2", "hun", "ter2", "r2"):
        assert secret not in f"{caught.value.message} {caught.value.hint}"


def test_no_text_makes_anything_but_addresses_or_a_refusal():
    signs = "ab@:/?#[],=&%1"
    for length in range(5):
        for number in range(len(signs) ** length if length < 4 else 20_000):
            text = "".join(signs[number * 7 // len(signs) ** k % len(signs)] for k in range(length))
            try:
                found = addresses(f"postgresql://{text}")
            except BadUrl:
                continue
            assert all(host and 1 <= port <= 65_535 for host, port in found)
