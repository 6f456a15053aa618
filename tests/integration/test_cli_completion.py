"""Completion, asked for as a shell does."""

from __future__ import annotations

import subprocess

import pytest

from tests.integration.test_cli_kit import Command, check_error
from tests.support.server import ONTHEDOT, clean_environment


@pytest.fixture
def onthedot(tmp_path) -> Command:
    return Command(tmp_path, "http://127.0.0.1:9")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_asks_the_command_itself(onthedot, shell):
    script = onthedot.ok("completion", shell).out

    assert f"_ONTHEDOT_COMPLETE={shell}_complete" in script
    assert "onthedot" in script


def test_another_shell_is_refused(onthedot):
    check_error(onthedot("completion", "tcsh"), 2, "tcsh")


@pytest.mark.parametrize(
    ("typed", "said"), [("onthedot ru", "run"), ("onthedot run re", "redrive")]
)
def test_commands_are_completed(typed, said):
    words = typed.split()
    done = subprocess.run(
        [str(ONTHEDOT)],
        env={
            **clean_environment(),
            "_ONTHEDOT_COMPLETE": "bash_complete",
            "COMP_WORDS": typed,
            "COMP_CWORD": str(len(words) - 1),
        },
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )

    assert said in done.stdout
