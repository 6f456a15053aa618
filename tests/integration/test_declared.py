"""Jobs that code declares, over restarts of a real server."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.integration.test_functions import keyed
from tests.integration.test_server_kit import Stage
from tests.support.server import ONTHEDOT, Server


def test_a_changed_declaration_changes_the_job_and_leaves_a_pause_alone(tmp_path, receiver):
    shop = tmp_path / "shop.py"
    code = "from onthedot import App\napp = App()\n@app.job(name='n', every=60)\ndef n(): ..."
    shop.write_text(code)
    server = Server(tmp_path, options=("--app", "shop:app"))
    with server:
        stage = Stage(server, receiver)
        job = keyed(stage, "n")
        assert stage.rest.patch(f"/v1/jobs/{job['jobId']}", {"paused": True}).status == 200
    shop.write_text(code.replace("every=60", "every=90"))
    with server:
        after = keyed(Stage(server, receiver), "n")

    assert (after["jobId"], after["every"], after["paused"]) == (job["jobId"], 90, True)


def test_what_the_code_has_no_longer_is_told_and_left_alone(tmp_path, receiver):
    shop = tmp_path / "shop.py"
    job = "\n@app.job(name='{name}')\ndef {name}(): ..."
    head = "from onthedot import App\napp = App()"
    shop.write_text(head + job.format(name="kept") + job.format(name="dropped"))
    server = Server(tmp_path, options=("--app", "shop:app"))
    with server:
        stage = Stage(server, receiver)
        dropped = keyed(stage, "dropped")
        by_hand = stage.job(key="by_hand")
    shop.write_text(head + job.format(name="kept") + job.format(name="by_hand"))
    with server:
        stage = Stage(server, receiver)
        assert keyed(stage, "dropped") == dropped
        assert keyed(stage, "by_hand") == stage.get_job(by_hand)
        gone = stage.rest.get("/v1/jobs", declared="gone").json["jobs"]
        assert [each["key"] for each in gone] == ["dropped"]
        why = stage.rest.get(f"/v1/jobs/{dropped['jobId']}/why").json["findings"]
        [finding] = [each for each in why if each["check"] == "declared"]
        assert finding["found"].startswith("shop:app declared it, and its code does so no longer")
        assert finding["fix"] == f"onthedot job delete {dropped['jobId']}"
        assert stage.rest.get("/v1/jobs", declared="here").status == 422

    said = server.log.read_text()
    assert "shop:app declares jobs: 2 added, 0 changed, 0 unchanged, 0 gone" in said
    assert "shop:app declares jobs: 0 added, 0 changed, 1 unchanged, 1 gone" in said
    assert "its code has no longer: dropped." in said
    assert "left alone, since they call URLs: by_hand." in said
    assert f"app.job_gone app=shop:app key=dropped job={dropped['jobId']}" in said


@pytest.mark.parametrize(
    ("code", "reference", "words"),
    [
        ("app = 5", "shop:app", "shop:app is a int, not an App"),
        ("1 / 0", "shop:app", "ZeroDivisionError"),
        ("", "shop:app", "has no attribute 'app'"),
        ("", "nowhere:app", "No module named 'nowhere'"),
        (
            "from onthedot import App\napp = App()\n@app.job(name='n', cron='x')\ndef n(): ...",
            "shop:app",
            "declares 'n' wrongly",
        ),
    ],
)
def test_code_that_cannot_be_loaded_is_refused_at_the_start(tmp_path: Path, code, reference, words):
    (tmp_path / "shop.py").write_text(code)
    said = subprocess.run(
        [ONTHEDOT, "serve", "--port", "0", "--app", reference],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert said.returncode == 1
    assert words in said.stderr
    assert "Traceback" not in said.stderr.partition("\n")[0]
