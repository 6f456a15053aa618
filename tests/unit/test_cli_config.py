"""`onthedot config`: every setting with its value and its source."""

from __future__ import annotations

import json
import re

import pytest

from onthedot import config
from tests.unit.test_cli_job import onthedot


@pytest.fixture(autouse=True)
def empty_place(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for setting in config.SETTINGS:
        monkeypatch.delenv(setting.variable, raising=False)
    return tmp_path


def shown() -> dict[str, tuple[str, str]]:
    result = onthedot("config")
    assert result.exit_code == 0, result.stderr
    _, *lines = [re.split(r" {2,}", line) for line in result.stdout.splitlines()]
    return {name: (value, source) for name, value, source in lines}


def test_every_setting_is_shown_with_its_default():
    values = shown()

    assert list(values) == [setting.name for setting in config.SETTINGS]
    assert {source for _, source in values.values()} == {"default"}
    assert values["port"][0] == "8467"
    assert values["grace"][0] == "30"
    assert values["prepared"][0] == "yes"
    assert values["queues"][0] == values["api_key"][0] == "-"
    assert values["roles"][0] == "api,scheduler,worker,janitor"


def test_a_value_knows_where_it_came_from(monkeypatch, empty_place):
    (empty_place / "onthedot.toml").write_text('port = 9000\nqueues = ["mail", "reports"]\n')
    monkeypatch.setenv("ONTHEDOT_GRACE", "PT1.5S")

    values = shown()

    assert values["port"] == ("9000", "onthedot.toml")
    assert values["queues"] == ("mail,reports", "onthedot.toml")
    assert values["grace"] == ("1.5", "ONTHEDOT_GRACE")


def test_secrets_are_never_shown(monkeypatch):
    monkeypatch.setenv("ONTHEDOT_API_KEY", "s3cret-key-of-the-api")
    monkeypatch.setenv("ONTHEDOT_WEBHOOK_SECRET", "s3cret-of-the-hooks,s3cret-of-tomorrow")
    monkeypatch.setenv("ONTHEDOT_DATABASE", "postgresql://ana:pa55@db/x?password=pa55")
    monkeypatch.setenv("ONTHEDOT_NOTIFY", "postgresql://ana:pa55@pg/x")

    plain, as_json = onthedot("config"), onthedot("config", "--json")

    for result in (plain, as_json):
        assert "s3cret" not in result.output
        assert "pa55" not in result.output
    assert shown()["api_key"] == ("***", "ONTHEDOT_API_KEY")
    assert shown()["webhook_secret"] == ("***", "ONTHEDOT_WEBHOOK_SECRET")
    assert shown()["notify"][0] == "postgresql://ana:***@pg/x"


def test_json_has_values_of_their_own_kinds(monkeypatch):
    monkeypatch.setenv("ONTHEDOT_QUEUES", "mail")

    found = {each["name"]: each for each in json.loads(onthedot("config", "--json").stdout)}

    assert found["queues"]["value"] == ["mail"]
    assert found["queues"]["source"] == found["queues"]["variable"] == "ONTHEDOT_QUEUES"
    assert (found["port"]["value"], found["prepared"]["value"]) == (8467, True)
    assert found["api_key"]["value"] is None
    assert found["retention"]["value"] == 30 * 86_400
    assert all(each["about"] for each in found.values())


def test_a_wrong_value_and_an_unknown_variable_are_told(monkeypatch):
    monkeypatch.setenv("ONTHEDOT_PROT", "1")
    assert "ONTHEDOT_PROT is not a setting" in onthedot("config").stderr

    monkeypatch.setenv("ONTHEDOT_PORT", "many")
    assert onthedot("config").exit_code == 2
