"""Which URLs a job may have: those that can be called."""

from __future__ import annotations

import pytest

from onthedot.errors import Invalid
from onthedot.wire.urls import checked_url


@pytest.mark.parametrize(
    "host",
    [
        *("127.1", "127.0.1", "1", "0", "2130706433", "0177.0.0.1", "256.1.1.1", "1.2.3.4.5"),
        *("0x7f000001", "0x7f.1", "0x", "127.0.0.1.", "name.1", "name.0x1", "\u00b2\u00b3"),
        "\uff11\uff12\uff17.1",
    ],
)
def test_a_number_that_is_not_a_whole_address_is_refused(host):
    with pytest.raises(Invalid) as caught:
        checked_url(f"http://{host}/hook", field="handlerUrl")

    assert caught.value.field == "handlerUrl"
    assert "not a whole IPv4 address" in caught.value.message
    assert "127.0.0.1" in caught.value.hint


@pytest.mark.parametrize("host", ["\u00e4" * 60 + ".example", "x" * 64, "a." * 127 + "com", "a..b"])
def test_a_name_that_does_not_fit_into_a_query_is_refused(host):
    with pytest.raises(Invalid) as caught:
        checked_url(f"http://{host}/hook", field="handlerUrl")

    assert "no name server knows" in caught.value.message


def test_a_zone_that_is_written_as_in_a_browser_is_refused():
    with pytest.raises(Invalid, match="zone"):
        checked_url("http://[fe80::1%25eth0]/", field="handlerUrl")


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.1/", "http://1.2.3.4:8080/x", "http://[::1]/", "http://[fe80::1%eth0]/"),
        *("http://localhost./", "http://a_b.example/", "http://xn--4ca.example/", "http://1a/"),
        *("http://\u00e4.example/", "http://0xg.example/", "http://1.example/", "http://x.1a/"),
        "http://\uff11\uff12\uff17.0.0.1/",
    ],
)
def test_what_can_be_called_stays_as_it_was_given(url):
    assert checked_url(url, field="handlerUrl") == url
