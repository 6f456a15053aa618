"""What is written from the fields of a job and kept in the repository is what they say now."""

from __future__ import annotations

import pytest

from tests.tidy.generated import FILES, ROOT


@pytest.mark.parametrize("name", FILES)
def test_written_text_is_what_the_declarations_say(name):
    assert (ROOT / name).read_text(encoding="utf-8") == FILES[name](), "run: python3 dev.py fields"
