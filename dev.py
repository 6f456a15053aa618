#!/usr/bin/env python3
"""Everything a developer runs, with nothing but Python.

  python3 dev.py setup             make .venv and install what requirements/dev.txt locks
  python3 dev.py demo [--port N]   install what a server needs, then start the demo
  python3 dev.py test              set up, then run the tests: every level, each thinned (5 minutes)
  python3 dev.py test ARGS...      paths below the checkout, and any option of pytest
  python3 dev.py proof             every test, with every database that is installed (17 minutes)
  python3 dev.py crash [KILLS]     the long form of the crash tests, with 30 kills unless told
  python3 dev.py hostile           the long form of the attacks: requests, functions, SQL, restores
  python3 dev.py cron [PAIRS]      the long form of the cron tests, with 20000 pairs unless told
  python3 dev.py chaos ARGS...     real processes under random faults; --help tells: --minutes M, …
  python3 dev.py simulate ARGS...  the simulation; --help tells: --seeds N, --seed S --trace, …
  python3 dev.py bench --against COMMIT ARGS...
                                   a bench of this and of another commit, in turns; --repeat N
  python3 dev.py bench peers ARGS  others beside ours, on the same PostgreSQL; --help tells
  python3 dev.py bench ARGS...     onthedot bench: throughput, lateness, scale, …
  python3 dev.py stranger          install into a clean environment and do what the README says
  python3 dev.py fields            write what is made from the fields of a job: types, reference
  python3 dev.py lint              set up, then check style, types and import directions

Setting up again takes no time: it installs only when pyproject.toml or the lock has changed.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
LOCKS = {name: ROOT / "requirements" / f"{name}.txt" for name in ("serve", "dev")}
STAMP = VENV / "installed.txt"

PYTHON_MIN = (3, 11)
PIP_MIN = (22, 3)  # the first with `pip --python`
# Much of a whole suite waits, so that two processes get on well.
WHOLE_SUITE = ("-n", "2", "--dist", "loadgroup", "--durations=30")
LONG = {"crash": "30", "cron": "20000"}
LONG_TEXTS = "1000000"
COMMANDS = (
    *("setup", "demo", "test", "proof", "crash", "hostile", "chaos", "cron", "simulate", "bench"),
    *("stranger", "fields", "lint"),
)
MODULES = {
    "chaos": "tests.crash.chaos",
    "fields": "tests.tidy.generated",
    "simulate": "tests.simulation",
    "stranger": "tests.stranger",
}
CHECKS = (
    ("ruff", "check"),
    ("ruff", "format", "--check"),
    ("mypy",),
    ("lint-imports", "--no-logo"),
)


def main(arguments: Sequence[str]) -> int:
    if sys.version_info < PYTHON_MIN:
        fail(2, f"dev.py needs Python 3.11 or newer; {sys.executable} is {sys.version.split()[0]}")
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip(), file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    command, rest = arguments[0], list(arguments[1:])
    if command not in COMMANDS:
        fail(2, f"no such command: '{command}'", f"python3 dev.py {' | '.join(COMMANDS)}")
    if command in LONG and (len(rest) > 1 or not all(each.isdigit() for each in rest)):
        got, example = " ".join(rest), f"python3 dev.py {command} {LONG[command]}"
        fail(2, f"'{command}' takes one number, got: {got}", example)
    if rest and command in ("setup", "proof", "hostile", "stranger", "fields", "lint"):
        fail(2, f"'{command}' takes no arguments, got: {' '.join(rest)}", "leave them out")
    if command == "demo":
        setup("serve")
        return become([script("onthedot"), "demo", *rest])
    setup("dev")
    if command == "test":
        os.chdir(ROOT)
        if not rest:
            os.environ["TEST_TIER"] = "quick"
        return become([str(PYTHON), "-m", "pytest", *(rest or WHOLE_SUITE)])
    if command == "proof":
        os.chdir(ROOT)
        os.environ["TEST_TIER"] = "all"
        return become([str(PYTHON), "-m", "pytest", *WHOLE_SUITE])
    if command == "crash":
        os.chdir(ROOT)
        os.environ["ONTHEDOT_CRASH_KILLS"] = rest[0] if rest else LONG["crash"]
        # -s: the summary lines of each test are what a long run is for.
        return become([str(PYTHON), "-m", "pytest", "-s", "tests/crash"])
    if command == "hostile":
        os.chdir(ROOT)
        os.environ["ONTHEDOT_HOSTILE_LONG"] = "1"
        return become([str(PYTHON), "-m", "pytest", "-s", "--timeout=1200", "tests/hostile"])
    if command == "cron":
        os.chdir(ROOT)
        os.environ["ONTHEDOT_CRON_PAIRS"] = rest[0] if rest else LONG["cron"]
        os.environ["ONTHEDOT_CRON_TEXTS"] = LONG_TEXTS
        found = (
            *ROOT.glob("tests/unit/test_cron_*.py"),
            *ROOT.glob("tests/unit/test_expressions_*.py"),
        )
        judges = sorted(map(str, found))
        # -v: a line a test shows how far it is; the tally at the end is what a long run is for.
        options = ("--timeout=0", "-n", "2", "-v", "-p", "tests.support.tally")
        return become([str(PYTHON), "-m", "pytest", *options, *judges])
    if command == "bench" and "--against" in rest:
        os.chdir(ROOT)
        return become([str(PYTHON), "-m", "bench.against", *rest])
    if command == "bench" and rest[:1] == ["peers"]:
        os.chdir(ROOT)
        return become([str(PYTHON), "-m", "bench.peers", *rest[1:]])
    if command == "bench":
        return become([script("onthedot"), "bench", *rest])
    if command in MODULES:
        os.chdir(ROOT)
        return become([str(PYTHON), "-m", MODULES[command], *rest])
    return lint() if command == "lint" else 0


# --- setting up ---


def setup(lock: str) -> None:
    """Bring .venv to what a lock says: `serve` is a part of `dev`, which has the tools too.

    1. A .venv that was moved, left half made, or lost its Python is made again.
    2. The locked packages go in, each checked against its hash.
    3. onthedot itself goes in as a link to src/, built by the locked hatchling.
    4. The stamp is written last, so that an interrupted set-up is never taken for a whole one.
    """
    if is_set_up(lock):
        return
    begun = time.monotonic()
    with alone():
        if is_set_up(lock):  # another dev.py did it while this one waited
            return
        if read_stamp()[:1] != [str(ROOT)] or not PYTHON.exists():  # exists() follows the link
            say(f"making .venv with Python {sys.version.split()[0]}")
            run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(VENV)])
        STAMP.unlink(missing_ok=True)
        pip = pip_command()
        packages = len(re.findall(r"^\w", LOCKS[lock].read_text(), re.MULTILINE))
        say(f"installing the {packages} packages of requirements/{lock}.txt")
        run([*pip, "install", "--no-deps", "--require-hashes", "-r", str(LOCKS[lock])])
        say("installing onthedot from src/")
        run([*pip, "install", "--no-deps", "--no-build-isolation", "-e", str(ROOT)])
        STAMP.write_text("\n".join(stamp(lock)))
    say(f"ready in {time.monotonic() - begun:.0f} s")


def is_set_up(lock: str) -> bool:
    return PYTHON.exists() and read_stamp() in (stamp(lock), stamp("dev"))


def stamp(lock: str) -> list[str]:
    """First what .venv was made for, then what was installed into it."""
    inputs = (ROOT / "pyproject.toml").read_bytes() + LOCKS[lock].read_bytes()
    return [str(ROOT), hashlib.sha256(inputs).hexdigest()]


def read_stamp() -> list[str]:
    return STAMP.read_text().splitlines() if STAMP.exists() else []


def pip_command() -> list[str]:
    """The pip that installs into .venv.

    The caller's own pip can do it from outside, which works on a Debian without ensurepip and
    where the system's Python is externally managed. Without one, ensurepip may still have a copy.
    """
    outside = [sys.executable, "-m", "pip"]
    found = subprocess.run([*outside, "--version"], capture_output=True, text=True, check=False)
    version = re.match(r"pip (\d+)\.(\d+)", found.stdout)
    options = ["--no-input", "--disable-pip-version-check"]
    if version and (int(version[1]), int(version[2])) >= PIP_MIN:
        return [*outside, "--python", str(PYTHON), *options]
    ensured = [str(PYTHON), "-m", "ensurepip", "--upgrade"]
    if subprocess.run(ensured, capture_output=True, check=False).returncode == 0:
        return [str(PYTHON), "-m", "pip", *options]
    fail(
        1,
        f"{sys.executable} needs pip 22.3 or newer, found {version[0] if version else 'none'}",
        "install it (Debian, Ubuntu: apt install python3-pip; Fedora: dnf install python3-pip)",
    )


@contextmanager
def alone() -> Iterator[None]:
    """Two set-ups at once would leave a broken .venv that looks whole: the second one waits."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    with ROOT.joinpath("pyproject.toml").open() as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another dev.py to finish its set-up")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield


# --- commands ---


def lint() -> int:
    """Run every check, even after one has failed: one round shows everything there is to fix."""
    os.chdir(ROOT)
    failed = []
    for check in CHECKS:
        name = " ".join(check)
        say(name)
        if subprocess.run([script(check[0]), *check[1:]], check=False).returncode != 0:
            failed.append(name)
    say(f"failed: {', '.join(failed)}" if failed else "all checks passed")
    return 1 if failed else 0


# --- processes and words ---


def script(name: str) -> str:
    return str(BIN / (f"{name}.exe" if os.name == "nt" else name))


def run(command: Sequence[str]) -> None:
    """Run, and show how far it is on a terminal; a failure shows everything the command said."""
    # Some people have pip install for the user by default, which a virtual environment refuses.
    settings = {"PIP_USER": "0", "PIP_ROOT_USER_ACTION": "ignore", "PIP_PROGRESS_BAR": "off"}
    lines = []
    with subprocess.Popen(
        command,
        env={**os.environ, **settings},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if sys.stderr.isatty() and line.startswith(("Collecting ", "Installing ")):
                print(f"\r\x1b[K  {line.strip()[:70]}", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    if process.returncode != 0:
        print("".join(lines), file=sys.stderr)
        what = f"exit code {process.returncode} from: {' '.join(command)}"
        fail(1, what, "its output is above; after a failed download, run this again")


def become(command: Sequence[str]) -> int:
    """Put the command in our place, so that Ctrl-C and the exit code are its own."""
    sys.stdout.flush()
    if os.name != "nt":
        os.execv(command[0], list(command))
    child = subprocess.Popen(command)  # Windows has no exec: stay, and let the child take Ctrl-C
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            continue


def say(words: str) -> None:
    print(f"dev: {words}", file=sys.stderr, flush=True)


def fail(code: int, what: str, hint: str = "") -> NoReturn:
    print(f"error: {what}" + (f"\n\nhint: {hint}" if hint else ""), file=sys.stderr)
    raise SystemExit(code)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
