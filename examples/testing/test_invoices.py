"""How jobs are tested: the clock is yours, everything else is real."""

from datetime import UTC, datetime

import pytest
from invoices import app, invoices, mail, mail_server, sent

from onthedot.testing import node

LAST_OF_MAY = datetime(2026, 5, 31, tzinfo=UTC)


@pytest.fixture(autouse=True)
def nothing_sent() -> None:
    sent.clear()
    mail_server["down"] = False


def test_every_customer_gets_an_invoice_a_month(onthedot_node):
    here = onthedot_node(app, at=LAST_OF_MAY)

    here.clock.advance(days=365)

    assert len(here.runs(invoices)) == 12
    assert len(sent) == 24
    assert [each.arguments["month"] for each in here.enqueued(mail, to="ana")][:2] == [
        "2026-06",
        "2026-07",
    ]


def test_a_mail_server_that_is_away_for_two_minutes_costs_nothing(onthedot_node):
    here = onthedot_node(app, at=LAST_OF_MAY)
    mail_server["down"] = True
    here.clock.advance(days=1, hours=4, minutes=1)
    assert sent == []

    mail_server["down"] = False
    here.clock.advance(hours=1)

    assert {run.status for run in here.runs(mail)} == {"succeeded"}
    assert len(sent) == 2


async def test_the_same_in_a_coroutine():
    async with node(app) as here:
        await mail.enqueue(to="cy", month="2026-01")
        await here.drain()

        assert sent == ["2026-01 to cy"]
