"""An app that cannot be loaded: the error names the file and the line."""

from __future__ import annotations

import pytest

from tests.integration.test_cli_kit import Command

APP = "from onthedot import App\napp = App()\n"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import nonesuch\n", "No module named 'nonesuch' ({folder}/shop.py, line 3)"),
        ("raise OSError('no way')\n", "OSError: no way ({folder}/shop.py, line 3)"),
        ("def f(:\n", "SyntaxError: invalid syntax (shop.py, line 3)"),
        ("del app\n", "has no attribute 'app'"),
        ("app = 1\n", "shop:app is a int, not an App"),
    ],
)
def test_the_error_says_where_loading_failed(tmp_path, code, said):
    (tmp_path / "shop.py").write_text(APP + code)

    done = Command(tmp_path, "http://127.0.0.1:9")("serve", "--app", "shop:app", "--port", "0")

    assert done.code == 1
    assert said.format(folder=tmp_path) in done.err
    assert "Traceback" not in done.err
