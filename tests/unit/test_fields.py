"""A job's field is declared once, and everything else that knows it is made from that."""

from __future__ import annotations

import json
import subprocess
import sys
from operator import attrgetter
from pathlib import Path
from typing import Any

import click
import pytest
from msgspec.structs import fields

from onthedot.api.openapi import document
from onthedot.cli.main import cli
from onthedot.core.fields import FIELDS, Kind, Where, declared
from onthedot.core.model import Definition
from onthedot.wire import shapes

ROOT = Path(__file__).resolve().parents[2]
EXTRA = """
import json, typing
from collections import namedtuple
from onthedot.core import model

# Its use in core/: a definition keeps it, with a default.
old = model.Definition
names = (*old._fields, "colour")
model.Definition = namedtuple("Definition", names, defaults=(*old._field_defaults.values(), "grey"))

# Its declaration.
from onthedot.core import fields
colour = fields.Field(
    name="colour", type=typing.Literal["grey", "red"], about="How it is shown.", at="colour",
    where=fields.Where.SCHEDULE,
)
fields.FIELDS += (colour,)

# Everything else is as it was.
from click.testing import CliRunner
from onthedot import App
from onthedot.api.openapi import document
from onthedot.cli.main import cli
from onthedot.store.codec import definition_from, definition_text
from onthedot.wire import JobIn, JobPatch, definition_of, job_out, patched, read, shapes
from tests.tidy.generated import reference, stub
import msgspec

asked = read(b'{"name": "n", "handlerUrl": "http://x/", "colour": "red"}', JobIn)
definition = definition_of(asked, now=0)
edited = patched(definition, read(b'{"colour": "grey"}', JobPatch), now=0)
job = model.Job(1, 1, definition, 0, 0, 0, 0)
schemas = document("0")["components"]["schemas"]
function = App().job(name="f", colour="red")(lambda: None)
print(json.dumps({
    "kept": definition_from(definition_text(definition), "{}").colour,
    "edited": edited.colour,
    "shown": msgspec.json.decode(msgspec.json.encode(job_out(job, "job-1", now=0)))["colour"],
    "openapi": {name: schemas[name]["properties"].get("colour") for name in ("JobIn", "JobOut")},
    "options": [
        command for command in (["job", "add"], ["job", "edit"], ["next"])
        if "--colour [grey|red]" in CliRunner().invoke(cli, [*command, "--help"]).stdout
    ],
    "keyword": str(shapes.CreateKeywords.__annotations__["colour"]),
    "declared": function.declaration()["colour"],
    "stub": stub().count('colour: Literal["grey", "red"]'),
    "reference": [line for line in reference().splitlines() if "colour" in line],
}))
"""


def test_a_field_that_is_added_is_known_everywhere():
    done = subprocess.run(
        [sys.executable, "-c", EXTRA], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["kept"], found["edited"], found["shown"]) == ("red", "grey", "red")
    assert found["openapi"] == {
        "JobIn": {"enum": ["grey", "red"], "description": "How it is shown.", "default": "grey"},
        "JobOut": {"enum": ["grey", "red"], "description": "How it is shown."},
    }
    assert found["options"] == [["job", "add"], ["job", "edit"], ["next"]]
    assert found["keyword"] == "typing.Literal['grey', 'red']"
    assert found["declared"] == "red"
    assert found["stub"] == len(("JobIn", "JobPatch", "PreviewIn", "JobOut")) + 3
    [row] = found["reference"]
    assert row.startswith('| `colour` | `--colour` | `"grey"` | create, edit, preview, code |')


def test_every_field_is_kept_where_it_says():
    kept = {each.at.partition(".")[0] for each in FIELDS if each.at}
    by_own_code = {
        *("handler_url", "handler", "schedule", "schedule_text", "calendar"),
        *("backoff", "on_failure_url", "last_at"),
    }

    for each in FIELDS:
        if each.at:
            attrgetter(each.at)(Definition(name=""))
    assert kept | by_own_code == {*Definition._fields}
    assert not kept & by_own_code


def test_names_and_options_are_unique():
    names = [each.name for each in FIELDS]
    assert len({*names}) == len(names)
    for each in FIELDS:
        assert each.about.endswith("."), each.name
        assert len(each.help) < 80, each.name


@pytest.mark.parametrize(
    ("command", "where", "arguments"),
    [
        ("job add", Where.CREATE, {"name"}),
        ("job edit", Where.EDIT, set()),
        ("job trigger", Where.TRIGGER, set()),
        ("next", Where.PREVIEW, {each.name for each in FIELDS if each.schedule}),
    ],
)
def test_a_command_has_an_option_for_every_field_that_it_may_set(command, where, arguments):
    found: Any = cli
    for name in command.split():
        found = found.commands[name]
    options = {param.name for param in found.params if isinstance(param, click.Option)}

    fields = {each.wire_name for each in declared(where) if each.name not in arguments}
    assert fields <= options


def test_an_edit_has_no_defaults_and_a_new_job_has_those_of_the_model():
    schemas = document("0")["components"]["schemas"]
    blank = Definition(name="")

    assert all("default" not in said for said in schemas["JobPatch"]["properties"].values())
    for each in declared(Where.CREATE):
        if each.at and each.kind is Kind.PLAIN and not each.required:
            said = schemas["JobIn"]["properties"][each.wire_name]
            assert said.get("default") == attrgetter(each.at)(blank), each.name


def test_every_schema_has_a_title_of_its_own():
    titles = [schema["title"] for schema in document("0")["components"]["schemas"].values()]

    assert len({*titles}) == len(titles)


def test_keyword_arguments_are_the_fields_in_pythons_spelling():
    given = {each.keyword or each.name for each in declared(Where.EDIT)}

    assert set(shapes.EditKeywords.__annotations__) == given
    assert {"cron", "version", "name"} <= given
    assert "name" not in shapes.CreateKeywords.__annotations__
    assert not {"key", "handler", "handler_url"} & set(shapes.CodeKeywords.__annotations__)
    assert {each.name for each in fields(shapes.JobIn)} == {
        each.name for each in declared(Where.CREATE)
    }
