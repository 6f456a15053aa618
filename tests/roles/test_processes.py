"""Whether a process of this machine has ended: known beyond doubt, or not claimed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from onthedot.roles import processes
from onthedot.roles.processes import is_gone, this_process

CHILD = (
    "from onthedot.roles.processes import this_process; print(this_process(), flush=True); input()"
)
ENDS_WITHIN_S = 10


@pytest.fixture
def child():
    with subprocess.Popen(
        [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def name_of(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def test_this_process_has_a_name_and_is_not_gone():
    assert f":{os.getpid()}:" in this_process()
    assert not is_gone(this_process())


def test_two_processes_have_different_names(child):
    assert name_of(child) != this_process()


def test_a_living_child_is_not_gone_and_a_killed_one_is(child):
    name = name_of(child)
    assert not is_gone(name)

    child.kill()
    child.wait()

    assert is_gone(name)


def test_a_killed_child_that_nobody_has_waited_for_is_gone(child):
    name = name_of(child)

    child.kill()

    deadline = time.monotonic() + ENDS_WITHIN_S
    while not is_gone(name):
        assert time.monotonic() < deadline
    assert child.returncode is None


def test_another_process_under_the_same_number_is_not_taken_for_it():
    home, _, _ = this_process().rpartition(":")

    assert is_gone(f"{home}:1")


@pytest.mark.parametrize(
    "process", ["", ":", "::", "x", "another-boot:pid:[4026531836]:1:1", "no:number:here:x:1"]
)
def test_of_another_machine_or_of_nonsense_nothing_is_known(process):
    assert not is_gone(process)


def test_a_process_in_another_namespace_is_not_ours_to_judge():
    boot = this_process().partition(":")[0]

    assert not is_gone(f"{boot}:pid:[1]:{2**22}:1")


@pytest.fixture
def fake_proc(tmp_path: Path, monkeypatch) -> Path:
    """A process table in a folder: one boot, one namespace, no process yet."""
    (tmp_path / "sys/kernel/random").mkdir(parents=True)
    (tmp_path / "sys/kernel/random/boot_id").write_text("boot\n")
    (tmp_path / "self/ns").mkdir(parents=True)
    (tmp_path / "self/ns/pid").symlink_to("pid:[7]")
    monkeypatch.setattr(processes, "_PROC", tmp_path)
    return tmp_path


def test_a_process_whose_name_looks_like_fields_is_read_rightly(fake_proc):
    (fake_proc / "42").mkdir()
    fields = " ".join(str(number) for number in range(4, 30))
    (fake_proc / "42/stat").write_text(f"42 (odd) Z (name) S {fields}\n")

    assert not is_gone("boot:pid:[7]:42:22")
    assert is_gone("boot:pid:[7]:42:23")


def test_a_process_that_cannot_be_looked_at_is_not_called_gone(fake_proc):
    (fake_proc / "42/stat").mkdir(parents=True)  # there, and not readable

    assert not is_gone("boot:pid:[7]:42:22")
