"""A stranger's path: a clean environment, `pip install .`, the ten lines of Python of the README, a
server, a job seen running, a clean stop. Run as `python3 dev.py stranger`; it needs the network.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.support.server import free_port

ROOT = Path(__file__).resolve().parents[1]
READY_S, RUN_S, STOP_S = 60, 30, 30


def main() -> int:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="stranger-") as name:
        folder = Path(name)
        tools = installed(folder / "venv")
        say(began, f"installed: {run(tools, folder, 'onthedot', '--version').strip()}")
        (folder / "shop.py").write_text(ten_lines())
        url = f"http://127.0.0.1:{free_port()}"
        server = subprocess.Popen(
            [tools / "onthedot", "serve", "--port", url.rpartition(":")[2], "--app", "shop:app"],
            cwd=folder,
        )
        try:
            wait(lambda: "tick" in run(tools, folder, "onthedot", "job", "list", url=url), READY_S)
            say(began, "the server has the jobs of the app")
            listed = ("onthedot", "run", "list", "tick")
            wait(lambda: "succeeded" in run(tools, folder, *listed, url=url), RUN_S)
            say(began, "a job was seen running:")
            print(run(tools, folder, *listed, url=url))
            server.send_signal(signal.SIGTERM)
            code = server.wait(STOP_S)
        finally:
            server.kill()
            server.wait()
    say(began, f"stopped with {code}")
    return code


def installed(venv: Path) -> Path:
    """The programs of a new environment with nothing in it but onthedot and what it needs."""
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    tools = venv / "bin"
    subprocess.run([tools / "python", "-m", "pip", "install", "-q", ROOT], check=True)
    return tools


def ten_lines() -> str:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"cat > shop\.py <<'EOF'\n(.*?)^EOF$", page, re.MULTILINE | re.DOTALL)
    assert found is not None, "the README has no shop.py"
    lines = [line for line in found[1].splitlines() if line]
    assert len(lines) <= 10, f"{len(lines)} lines are more than ten"
    return found[1]


def run(tools: Path, folder: Path, *command: str, url: str = "") -> str:
    environment = {**os.environ, "ONTHEDOT_SERVER": url} if url else dict(os.environ)
    said = subprocess.run(
        [tools / command[0], *command[1:]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return said.stdout


def wait(true: object, within_s: float) -> None:
    assert callable(true)
    until = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < until, f"not within {within_s} s"
        time.sleep(0.2)


def say(began: float, words: str) -> None:
    print(f"stranger: {time.monotonic() - began:5.1f} s  {words}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
