"""The reference pages say what there is, all of it, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from onthedot import config
from onthedot.api.openapi import document
from onthedot.cli.main import cli
from onthedot.cli.serve import FLAGS
from onthedot.observe.metrics import Gauges, Scrape, render
from onthedot.observe.tally import Tally

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted(ROOT.glob("docs/**/*.md"))]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def section(name: str, title: str) -> str:
    """The part of a page under one heading."""
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", page(name), re.MULTILINE | re.DOTALL)
    assert found is not None, f"{name} has no section {title}"
    return found[1]


def rows(text: str) -> list[list[str]]:
    """The cells of every table, without heads."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    rules = [number for number, row in enumerate(cells) if set(row[0]) == {"-"}]
    heads = {number - 1 for number in rules} | set(rules)
    return [row for number, row in enumerate(cells) if number not in heads]


def named(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_every_operation_is_in_the_reference():
    described = {
        tuple(name.split(" ", 1))
        for row in rows(section("reference/api.md", "Endpoints"))
        for name in named(row[0])
    }
    there = {
        (method.upper(), path) for path, item in document("0")["paths"].items() for method in item
    }
    assert described == there


def test_every_field_of_a_run_and_of_a_trigger_is_in_the_reference():
    schemas = document("0")["components"]["schemas"]
    run = [n for row in rows(section("reference/api.md", "Run fields")) for n in named(row[0])]
    trigger = [named(row[0])[0] for row in rows(section("reference/api.md", "Trigger fields"))]

    assert set(run) == set(schemas["RunDetail"]["properties"])
    assert set(trigger) == set(schemas["TriggerIn"]["properties"])


def test_every_field_of_a_dead_letter_is_in_the_reference():
    schemas = document("0")["components"]["schemas"]
    table = rows(section("reference/api.md", "Dead letter fields"))

    told = {n for row in table for n in named(row[0])}
    assert told == set(schemas["DeadLetterDetail"]["properties"])


def test_every_field_of_a_node_is_in_the_reference():
    schemas = document("0")["components"]["schemas"]
    told = [n for row in rows(section("reference/api.md", "Node fields")) for n in named(row[0])]

    assert set(told) == set(schemas["NodeOut"]["properties"])


def test_every_status_of_a_problem_is_in_the_reference():
    told = {row[0] for row in rows(section("reference/api.md", "Problems"))}
    responses = document("0")["components"]["responses"]

    assert told == {name.removeprefix("Problem") for name in responses} | {"405"}


def test_every_setting_is_in_the_reference_with_its_default():
    table = {named(row[0])[0]: row for row in rows(page("reference/settings.md"))}

    assert set(table) == {setting.name for setting in config.SETTINGS}
    for setting in config.SETTINGS:
        _, variable, flag, default, _ = table[setting.name]
        assert variable == f"`{setting.variable}`"
        if setting.name in FLAGS:
            assert flag == f"`{setting.flag}`"
        value = getattr(config.Settings(), setting.attribute)
        if isinstance(value, str) or setting.name in ("port", "slots"):
            assert default == f"`{value}`"
        elif setting.name == "roles":
            assert default == f"`{','.join(value)}`"


def commands(group: click.Group, path: str = "") -> dict[str, click.Command]:
    found: dict[str, click.Command] = {}
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            found |= commands(command, f"{path}{name} ")
        else:
            found[path + name] = command
    return found


@pytest.mark.parametrize("name", sorted(commands(cli)))
def test_every_command_and_option_is_in_the_reference(name):
    text = page("reference/cli.md") + page("reference/fields.md")

    assert name in text
    for parameter in commands(cli)[name].params:
        if isinstance(parameter, click.Option):
            for option in parameter.opts:
                assert option in text, f"{option} of {name}"


def test_every_event_is_in_the_list_of_events():
    source = "".join(p.read_text() for p in (ROOT / "src").rglob("*.py"))
    logged = set(re.findall(r'\b(?:log|warn)\(\s*"([a-z_.]+)"', source))
    told = {n for row in rows(section("operations.md", "Logs")) for n in named(row[0])}

    assert told == logged, "docs/operations.md has a table of events"


def test_every_metric_is_in_the_list_of_metrics():
    gauges = Gauges(
        queued={}, oldest_s={}, waiting=0, dead_letters=0, set_aside=0, notices=0,
        notices_given_up=0, nodes={}, slots=0, slots_used=0,
    )  # fmt: skip
    text = render(Scrape(Tally(), "0", True, gauges)).decode()
    there = set(re.findall(r"^# TYPE (onthedot_\w+)", text, re.MULTILINE))
    told = {n for row in rows(section("operations.md", "Metrics")) for n in named(row[0])}

    assert told == there, "docs/operations.md has a table of metrics"


def test_every_link_leads_somewhere():
    for found in PAGES:
        for link in LINK.findall(found.read_text(encoding="utf-8")):
            if link.startswith(("http:", "https:")):
                continue
            path, _, anchor = link.partition("#")
            target = (found.parent / path).resolve() if path else found
            assert target.is_file(), f"{found.name} links to {link}"
            assert not anchor or anchor in anchors(target), f"{found.name} links to {link}"


def anchors(path: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head).strip().lower().replace(" ", "-") for head in heads}
