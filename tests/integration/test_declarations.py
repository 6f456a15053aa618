"""Jobs that code declares, over restarts of the server; and code that cannot be loaded."""

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
