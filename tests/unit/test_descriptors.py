"""The file descriptors of the engine are out of the reach of clients."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from onthedot.core.descriptors import CLIENTS_MIN, Needs, clients_allowed, raised

FEW = st.integers(0, 20_000)


@given(FEW, FEW, st.integers(0, 1_000), st.integers(16, 50_000), st.integers(0, 200_000))
def test_clients_never_get_what_the_engine_needs(slots, pool, runners, clients, limit):
    needs = Needs(slots=slots, pool=pool, runners=runners, clients=clients)

    allowed = clients_allowed(needs, limit)

    if allowed is None:
        assert limit < needs.least
    else:
        assert min(CLIENTS_MIN, clients) <= allowed <= clients
        assert allowed + slots + pool + runners < limit


def test_a_node_without_the_api_needs_files_for_its_slots_only():
    assert clients_allowed(Needs(slots=100), 205) == 0
    assert clients_allowed(Needs(slots=100), 204) is None


def test_a_limit_is_raised_as_far_as_is_allowed_and_never_lowered():
    assert raised(256, 1_024) == 1_024
    assert raised(1_024, 1_000_000) == 65_536
    assert raised(500_000, 1_000_000) == 500_000
