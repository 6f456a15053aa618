"""What is printed holds no password, and logs no secret part of a URL."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot import config
from onthedot.core.redaction import address_without_password, for_logs, without_passwords
from onthedot.errors import WrongUse

SECRET = "hunter2"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:secret@db:5432/x", "postgresql://me:***@db:5432/x"),
        ("postgresql://me@db/x?password=secret&a=b", "postgresql://me@db/x?password=***&a=b"),
        ("postgresql://me:a/b?c@db/x", "postgresql://me:***@db/x"),
        ("postgresql://me:a@b@db/x", "postgresql://me:***@db/x"),
        ("postgresql://me:two words@db/x", "postgresql://me:***@db/x"),
        ("postgresql+asyncpg://me:secret@db/x", "postgresql+asyncpg://me:***@db/x"),
        ("mysql://me:secret@db/x", "mysql://me:***@db/x"),
        ("postgresql//me:secret@db/x", "postgresql//me:***@db/x"),
        ("me:secret@db/x", "me:***@db/x"),
        ("postgresql:me:secret@db/x", "postgresql:***@db/x"),
        ("host=db user=me password=secret", "host=db user=me password=***"),
        ("host=db password='se cret' user=me", "host=db password=*** user=me"),
        ("postgresql://me:secret@a,b:5433/x", "postgresql://me:***@a,b:5433/x"),
        ("postgresql://db/x", "postgresql://db/x"),
        ("postgresql://me@db/x", "postgresql://me@db/x"),
        ("sqlite:////var/lib/onthedot.db", "sqlite:////var/lib/onthedot.db"),
        ("sqlite:///me:and@you.db", "sqlite:///me:and@you.db"),
    ],
)
def test_the_address_of_a_database_is_shown_without_its_password(url, shown):
    assert address_without_password(url) == shown


@given(password=st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=30))
def test_no_password_survives_whatever_it_holds(password):
    shown = address_without_password(f"postgresql://me:<{SECRET}{password}>@db/x")

    assert SECRET not in shown


@pytest.mark.parametrize("scheme", ["postgresql+asyncpg", "mysql", "oracle"])
def test_a_setting_that_is_refused_is_repeated_without_its_password(scheme):
    with pytest.raises(WrongUse) as refused:
        config.load({"database": f"{scheme}://me:{SECRET}{'x' * 100}@db/x"}, environ={})

    assert SECRET not in refused.value.message
    assert scheme in refused.value.message


def test_settings_print_without_passwords():
    settings = config.load({"database": f"postgresql://me:{SECRET}@db/x"}, environ={})

    assert SECRET not in repr(settings)


@pytest.mark.parametrize(
    ("text", "kept", "hidden"),
    [
        ("cannot post to https://hooks.example/T0/B1/xyz", "https://hooks.example/…", "xyz"),
        ("https://hooks.example:8443?token=abc", "https://hooks.example:8443/…", "abc"),
        ("'https://hooks.example/a/xyz' failed", "' failed", "xyz"),
        ("lost postgresql://me:secret@db/x: refused", "postgresql://me:***@db/x:", "secret"),
        ("ready at http://127.0.0.1:8467", "ready at http://127.0.0.1:8467", "***"),
    ],
)
def test_a_log_keeps_scheme_and_host_of_a_web_address(text, kept, hidden):
    shown = for_logs(text)

    assert kept in shown
    assert hidden not in shown


def test_a_log_tells_two_addresses_of_one_host_apart():
    one, other = (for_logs(f"https://hooks.example/{path}") for path in ("a", "b"))

    assert one != other
    assert one == for_logs("https://hooks.example/a")


@pytest.mark.parametrize("text", ["key team:mail@eu", "at 10:00 to ana@example.com", "a=b"])
def test_text_without_an_address_is_left_alone(text):
    assert without_passwords(text) == text
