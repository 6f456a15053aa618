"""Tables on narrow terminals: an id is never broken."""

from __future__ import annotations

import pytest

from onthedot.cli import output

RUN = "452cb2020f-1-19815598a290f801"
HEADINGS = ("RUN", "STATUS", "SCHEDULED FOR", "ATTEMPT", "LATENESS", "TOOK", "WHY")
ROW = (RUN, "failed", "2027-01-31 09:30:02.250Z", "1", "4 ms", "6 ms", "HTTP 503 Unavailable")


@pytest.fixture
def screen(monkeypatch, capsys):
    def drawn(columns):
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        output.table(HEADINGS, [ROW])
        return capsys.readouterr().out

    return drawn


def test_on_a_wide_terminal_a_row_is_a_line(screen):
    (row,) = [line for line in screen(140).splitlines() if RUN in line]

    assert "HTTP 503 Unavailable" in row


@pytest.mark.parametrize("columns", [100, 80, 60, 40])
def test_on_a_narrow_one_columns_go_below_and_nothing_is_broken(screen, columns):
    shown = screen(columns)

    assert all(cell in shown for cell in (*HEADINGS, *ROW))
    assert all(len(line) <= columns for line in shown.splitlines())
