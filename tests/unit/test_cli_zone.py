"""`onthedot zone`: what jobs are due by, as people read about it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.test_cli_client import StandIn
from tests.unit.test_cli_job import onthedot


@pytest.fixture
def api(monkeypatch, tmp_path) -> Iterator[StandIn]:
    with StandIn() as stand_in:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("ONTHEDOT_SERVER", stand_in.url)
        stand_in.answers["GET /v1/zones"] = 200, {"zones": [], "moves": []}
        yield stand_in


@pytest.mark.parametrize(("command", "said"), [("list", "no zones"), ("moves", "no moves")])
def test_where_there_is_nothing_to_list_it_says_so(api, command, said):
    shown, as_json = onthedot("zone", command), onthedot("zone", command, "--json")

    assert (shown.stdout, shown.stderr.strip()) == ("", said)
    assert as_json.stdout.strip() == "[]"
