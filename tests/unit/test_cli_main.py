"""The command as a whole: help, start-up, exit codes, and errors without tracebacks."""

from __future__ import annotations

import os
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from onthedot.cli.main import cli
from tests.unit.test_cli_job import onthedot

HEAVY = {"aiohttp", "asyncpg", "http.client", "rich", "uvicorn", "uvloop"}


def commands(group: click.Group, *path: str) -> list[tuple[str, ...]]:
    found = []
    for name, command in group.commands.items():
        found.append((*path, name))
        if isinstance(command, click.Group):
            found.extend(commands(command, *path, name))
    return found


def is_group(name: str) -> bool:
    return isinstance(cli.commands[name], click.Group)


def in_a_process(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """For what depends on a fresh interpreter or on real streams."""
    return subprocess.run(
        [sys.executable, "-c", "from onthedot.cli.main import main; main()", *arguments],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


@pytest.mark.parametrize("path", [(), *commands(cli)], ids=" ".join)
def test_every_command_explains_itself(path):
    result = onthedot(*path, "--help")

    assert result.exit_code == 0
    assert "Usage: " in result.stdout


@pytest.mark.parametrize("path", [p for p in commands(cli) if len(p) > 1 or not is_group(p[0])])
def test_every_command_that_does_something_has_an_example(path):
    assert f"\n    onthedot {' '.join(path)}" in onthedot(*path, "--help").stdout


def test_starting_up_loads_nothing_heavy():
    code = "import sys, onthedot.cli.main; print(*sys.modules, sep='\\n')"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30
    ).stdout.split("\n")

    assert HEAVY & set(loaded) == set()


def test_no_command_at_all_shows_the_help_as_wrong_use():
    result = onthedot()

    assert result.exit_code == 2
    assert "Usage: " in result.stderr


def test_a_mistyped_command_is_wrong_use():
    result = onthedot("jbo")

    assert result.exit_code == 2
    assert result.stderr.startswith("error: No such command 'jbo'")
    assert "hint: `cli --help`" in result.stderr


def test_a_mistyped_option_is_wrong_use():
    result = onthedot("job", "list", "--jsn")

    assert result.exit_code == 2
    assert "--jsn" in result.stderr
    assert "job list --help`" in result.stderr


def test_the_version_is_told():
    assert onthedot("--version").stdout.startswith("onthedot 0.")


def broken(_name: str) -> click.Command:
    def fail() -> None:
        raise KeyError("jobId")

    return click.Command("break", callback=fail)


@pytest.fixture
def broken_command():
    cli.add_command(broken("break"))
    yield "break"
    del cli.commands["break"]


def test_our_own_fault_is_told_without_a_traceback(broken_command, monkeypatch):
    monkeypatch.delenv("ONTHEDOT_DEBUG", raising=False)

    result = onthedot(broken_command)

    assert result.exit_code == 1
    assert result.stderr.startswith("error: internal: KeyError: 'jobId'")
    assert "--debug" in result.stderr
    assert "Traceback" not in result.stderr


def test_debug_shows_where_a_fault_came_from(broken_command, monkeypatch):
    assert "Traceback" in onthedot("--debug", broken_command).stderr

    monkeypatch.setenv("ONTHEDOT_DEBUG", "1")
    assert "Traceback" in onthedot(broken_command).stderr


def test_an_interrupted_command_says_nothing_more():
    def interrupt() -> None:
        raise KeyboardInterrupt

    cli.add_command(click.Command("interrupt", callback=interrupt))
    try:
        result = CliRunner().invoke(cli, ["interrupt"])
    finally:
        del cli.commands["interrupt"]

    assert result.exit_code == 130
    assert result.output.strip() == ""


def test_errors_have_no_colour_in_a_pipe():
    done = in_a_process("next", "75 * * * *")

    assert done.returncode == 2
    assert done.stderr.startswith("error: minute '75'")


def test_a_terminal_that_knows_only_ascii_still_gets_an_answer():
    done = in_a_process("next", "ä", PYTHONIOENCODING="ascii")

    assert done.returncode == 2
    assert "is not understood" in done.stderr
    assert "internal" not in done.stderr


def test_a_reader_that_leaves_early_sees_no_traceback():
    command = (
        f"{sys.executable} -c 'from onthedot.cli.main import main; main()'"
        " next '* * * * *' --count 10000 --json | head -n 1"
    )
    done = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, check=False, timeout=30
    )

    assert done.stdout == "[\n"
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--port", "many"), 2, "port 'many' (from --port)"),
        (("--database", "mysql://db/x"), 2, "is not the address of a database"),
        (("--roles", "wroker"), 2, "Did you mean worker?"),
        (("--host", "0.0.0.0"), 1, "can be reached from other machines"),
    ],
)
def test_serve_refuses_what_it_cannot_do(monkeypatch, tmp_path, arguments, code, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ONTHEDOT_API_KEY", raising=False)

    result = onthedot("serve", *arguments)

    assert result.exit_code == code
    assert said in result.stderr
    assert "\n\nhint: " in result.stderr
    assert list(tmp_path.iterdir()) == []
