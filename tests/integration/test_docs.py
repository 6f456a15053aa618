"""Every example in README.md and docs/ runs: shell blocks in order, against a server of the page.

A ```sh block is run; the ```text or ```json block that follows it is what it prints. `…` stands
for anything, ids, instants and durations only for their kind, and JSON may leave out fields. What
`onthedot next` prints is compared as it is.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.server import Server, free_port

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", *sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md"))]
PAGES = [page for page in PAGES if not page.startswith("docs/internals")]
# Run elsewhere: they make the very environment in which these tests run.
EXEMPT = {"python3 dev.py demo", "python3 dev.py test", "pip install ."}
SERVE = "onthedot serve"
SERVER_PORT, APP_PORT, RECEIVER_PORT = "8467", "8468", "9000"
PAGE_S = 45

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KINDS = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z"), "<instant>"),
    (re.compile(r"\b[0-9a-f]{10}-[0-9a-f]+-[0-9a-f]{10,}\b"), "<run>"),
    (re.compile(r"\((in [^)]+|[^)]+ ago|now)\)"), "(<when>)"),
    (re.compile(r"\b[\d.]+ m?s\b"), "<duration>"),
)
# Stands in for curl, which a machine may lack: what the examples use of it, and nothing else.
CURL = """
import sys, urllib.error, urllib.request
method, url, body, headers = None, "", None, {}
words = iter(sys.argv[1:])
for word in words:
    if word == "-X":
        method = next(words)
    elif word == "-H":
        name, _, value = next(words).partition(":")
        headers[name] = value.strip()
    elif word == "-d":
        body = next(words).encode()
    elif word != "-s":
        assert not word.startswith("-") and not url, f"the stand-in does not know {word}"
        url = word
request = urllib.request.Request(url, body, headers, method=method)
try:
    answer = urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10)
except urllib.error.HTTPError as error:
    answer = error
sys.stdout.write(answer.read().decode())
"""
PRELUDE = """\
set -eu
answers() { until curl -s "http://127.0.0.1:$1/" -d '' > /dev/null 2>&1; do :; done; }
"""


@dataclass(frozen=True)
class Example:
    """One shell block, and what the page says it prints (`kind` is text or json)."""

    commands: str
    kind: str = ""
    expected: str = ""


def examples(page: str) -> list[Example]:
    found: list[Example] = []
    for kind, body in FENCE.findall((ROOT / page).read_text(encoding="utf-8")):
        if kind == "sh":
            found.append(Example(body))
        elif found and kind in ("text", "json") and not found[-1].kind:
            found[-1] = Example(found[-1].commands, kind, body)
    return [e for e in found if not set(e.commands.strip().splitlines()) <= EXEMPT]


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with Server(tmp_path) as server:
        shell = Shell(tmp_path, server)
        yield shell
        shell.close()


class Shell:
    """One `sh` for a page, so that what a block sets is there in the next."""

    def __init__(self, folder: Path, server: Server) -> None:
        self._folder = folder
        self._server = server
        self._receiver_port = str(free_port())
        self._app_port = str(free_port())
        self._process: subprocess.Popen[bytes] | None = None
        tools = folder / "bin"
        tools.mkdir()
        curl = tools / "curl"
        curl.write_text(f"#!{sys.executable}\n{CURL}")
        curl.chmod(0o755)
        self._path = os.pathsep.join(
            [str(tools), str(Path(sys.executable).parent), os.environ["PATH"]]
        )

    def run(self, blocks: list[Example]) -> list[str]:
        """What each block printed. A block that fails ends the page."""
        script = self._folder / "page.sh"
        script.write_text(PRELUDE + "".join(self._block(n, b) for n, b in enumerate(blocks)))
        environment = {
            **{name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ},
            "PATH": self._path,
            "ONTHEDOT_SERVER": self._server.url,
        }
        self._process = subprocess.Popen(
            ["sh", str(script)],
            cwd=self._folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        code = self._process.wait(PAGE_S)
        said = [self._said(number) for number in range(len(blocks))]
        assert code == 0, f"exit code {code} in the last of these:\n" + "\n---\n".join(said)
        return said

    def close(self) -> None:
        """End what a page has left in the background: it is in the session of its shell."""
        if self._process is not None:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:
                return

    def _block(self, number: int, block: Example) -> str:
        commands = block.commands
        if commands.strip() == SERVE:
            commands = f"cat {self._server.log}\n"
        for port, ours in self._ports():
            commands = commands.replace(port, ours)
        if commands.rstrip().endswith("receiver.py &"):
            commands += f"answers {self._receiver_port}\n"
        if commands.rstrip().endswith("--app shop:app &"):
            commands += f"answers {self._app_port}\n"
        return f'exec > "{self._folder}/out.{number}" 2>&1\n{commands}'

    def _said(self, number: int) -> str:
        out = self._folder / f"out.{number}"
        text = out.read_text() if out.exists() else "(never begun)"
        for port, ours in self._ports():
            text = text.replace(ours, port)
        return text

    def _ports(self) -> list[tuple[str, str]]:
        return [
            (SERVER_PORT, str(self._server.port)),
            (APP_PORT, self._app_port),
            (RECEIVER_PORT, self._receiver_port),
        ]


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run_and_print_what_it_says(page, shell):
    blocks = examples(page)
    if page != "README.md":
        blocks = [example for example in examples("README.md") if "receiver.py" in example.commands]
        blocks += examples(page)

    said = shell.run(blocks)

    for block, printed in zip(blocks, said, strict=True):
        check_output(block, printed)


def check_output(block: Example, printed: str) -> None:
    expected = block.expected
    if not block.commands.startswith("onthedot next"):
        printed, expected = kinds_of(printed), kinds_of(expected)
    if block.kind == "json":
        fits = covers(json.loads(printed), json.loads(expected))
    else:
        fits = not block.kind or says(expected, printed)
    assert fits, f"{block.commands}\nsays:\n{printed}\nand the page:\n{expected}"


def kinds_of(text: str) -> str:
    """With kinds instead of values that are others every time."""
    for kind, name in KINDS:
        text = kind.sub(name, text)
    return text


def says(expected: str, printed: str) -> bool:
    """A line of `…` alone stands for any number of lines, within a line for anything."""
    pattern = ""
    for line in lines_of(expected).splitlines(keepends=True):
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += re.escape(line).replace("…", ".*")
    return re.fullmatch(pattern, lines_of(printed)) is not None


def lines_of(text: str) -> str:
    """With single spaces: columns are as wide as their values."""
    return "".join(" ".join(line.split()) + "\n" for line in text.rstrip().splitlines())


def covers(found: Any, expected: Any) -> bool:
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(
            name in found and covers(found[name], value) for name, value in expected.items()
        )
    if isinstance(expected, list):
        return (
            isinstance(found, list)
            and len(found) == len(expected)
            and all(covers(*pair) for pair in zip(found, expected, strict=True))
        )
    return bool(found == expected)


def test_every_page_has_examples():
    assert [page for page in PAGES if not examples(page)] == []


def test_an_example_that_prints_something_else_is_found():
    assert says("a   b\n…\nc\n", "a b\nx\ny\nc")
    assert kinds_of("at 2027-01-31T09:30:00Z, 4 ms") == kinds_of("at 1999-01-01T00:00:00.5Z, 31 ms")
    assert says("a\n…\n", "a")
    assert not says("a\n", "a\nb")
    assert not says("a … c\n", "a b")
    assert covers({"a": [1, {"b": "x", "c": 2}]}, {"a": [1, {"b": "x"}]})
    assert not covers({"a": [1]}, {"a": [2]})
    assert not covers({"a": 1}, {"b": 1})
