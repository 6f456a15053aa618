"""The real command in a process of its own: what it printed where, and how it ended."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.server import ONTHEDOT, clean_environment

COMMAND_S = 30


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class Command:
    """Calls `onthedot` in an empty folder, with a server to speak to."""

    folder: Path
    server: str

    def __call__(self, *arguments: str, said: str | None = None, **environment: str) -> Done:
        done = subprocess.run(
            [str(ONTHEDOT), *arguments],
            cwd=self.folder,
            env={**clean_environment(), "ONTHEDOT_SERVER": self.server, **environment},
            input=said or "",
            capture_output=True,
            text=True,
            timeout=COMMAND_S,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert "\x1b" not in done.stdout + done.stderr, "colours belong on a terminal"
        return Done(done.returncode, done.stdout, done.stderr)

    def ok(self, *arguments: str, said: str | None = None) -> Done:
        done = self(*arguments, said=said)
        assert done.code == 0, f"{arguments}: {done}"
        return done


def check_error(done: Done, code: int, said: str) -> None:
    """One clear line on standard error with a hint after it, and nothing on standard output."""
    assert done.code == code, done
    assert done.out == ""
    first, blank, hint, *_ = [*done.err.splitlines(), "", "", ""]
    assert first.startswith("error: "), done.err
    assert said in done.err
    assert (blank, hint[:6]) == ("", "hint: "), done.err
