"""Settings: four places in order, each value with its source, wrong ones refused with a hint."""

from __future__ import annotations

from pathlib import Path

import pytest

from onthedot.config import SETTINGS, Settings, is_loopback, load
from onthedot.core.instants import DAY, SECOND
from onthedot.errors import CannotStart, WrongUse


def in_file(folder: Path, text: str) -> Path:
    (folder / "onthedot.toml").write_text(text, encoding="utf-8")
    return folder


def refusal(folder: Path, **given: object) -> WrongUse:
    with pytest.raises(WrongUse) as caught:
        load(given, environ={}, folder=folder)
    return caught.value


def test_without_anything_given_the_defaults_hold(tmp_path):
    settings = load(environ={}, folder=tmp_path)

    assert settings == Settings()
    assert settings.database_path == Path("onthedot.db")
    assert (settings.host, settings.port) == ("127.0.0.1", 8467)
    assert settings.roles == ("api", "scheduler", "worker", "janitor")
    assert settings.api_key is None
    assert (settings.slots, settings.queues) == (100, ())
    assert (settings.grace_us, settings.retention_us) == (30 * SECOND, 30 * DAY)
    assert settings.server == "http://127.0.0.1:8467"
    assert {settings.source_of(setting.name) for setting in SETTINGS} == {"default"}


def test_a_flag_beats_the_environment_which_beats_the_file(tmp_path):
    folder = in_file(tmp_path, 'port = 1001\nhost = "::1"\nslots = 7\n')
    environ = {"ONTHEDOT_PORT": "1002", "ONTHEDOT_HOST": "localhost"}

    settings = load({"port": "1003", "host": None}, environ=environ, folder=folder)

    assert (settings.port, settings.host, settings.slots) == (1003, "localhost", 7)
    assert settings.source_of("port") == "--port"
    assert settings.source_of("host") == "ONTHEDOT_HOST"
    assert settings.source_of("slots") == "onthedot.toml"
    assert settings.source_of("grace") == "default"


def test_a_value_that_equals_the_default_still_knows_its_source(tmp_path):
    settings = load(environ={"ONTHEDOT_PORT": "8467"}, folder=tmp_path)

    assert settings.source_of("port") == "ONTHEDOT_PORT"


def test_the_file_may_use_the_types_of_toml(tmp_path):
    folder = in_file(
        tmp_path, 'roles = ["worker", "api"]\nqueues = ["mail"]\ngrace = 2.5\nretention = "P7D"\n'
    )

    settings = load(environ={}, folder=folder)

    assert settings.roles == ("api", "worker")
    assert settings.queues == ("mail",)
    assert settings.grace_us == 2_500_000
    assert settings.retention_us == 7 * DAY


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("roles", "worker, scheduler,worker", ("scheduler", "worker")),
        ("queues", "mail, reports", ("mail", "reports")),
        ("queues", "", ()),
        ("grace_us", "45", 45 * SECOND),
        ("grace_us", "PT1M", 60 * SECOND),
        ("port", "0", 0),
        ("log_level", "DEBUG", "debug"),
        ("host", "[::1]", "::1"),
        ("server", "https://example.com/onthedot/", "https://example.com/onthedot"),
        ("database", "sqlite:////var/lib/onthedot.db", "sqlite:////var/lib/onthedot.db"),
    ],
)
def test_text_from_the_environment_is_read(tmp_path, name, text, expected):
    variable = "ONTHEDOT_" + name.removesuffix("_us").upper()

    assert getattr(load(environ={variable: text}, folder=tmp_path), name) == expected


def test_four_slashes_are_a_full_path(tmp_path):
    settings = load({"database": "sqlite:////var/lib/onthedot.db"}, environ={}, folder=tmp_path)

    assert settings.database_path == Path("/var/lib/onthedot.db")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("port", "eighty", "port 'eighty' (from --port) is not an integer from 0 to 65535"),
        ("port", "65536", "from 0 to 65535"),
        ("port", "-1", "from 0 to 65535"),
        ("slots", "0", "from 1 to"),
        ("slots", True, "from 1 to"),
        ("grace", "soon", "grace 'soon' is not a duration (from --grace)"),
        ("grace", "-5", "is negative (from --grace)"),
        ("grace", "nan", "is not a finite number"),
        ("retention", "P1M", "months"),
        ("roles", "api,wroker", "unknown role 'wroker'"),
        ("roles", " , ", "names no role"),
        ("roles", 5, "is not a list of names"),
        ("queues", ["mail", 5], "is not a list of names"),
        ("host", "", "is empty"),
        ("host", "http://localhost", "is not a host name"),
        ("host", "127.0.0.1:80", "is not a host name"),
        ("log_level", "loud", "is not a log level"),
        ("database", "onthedot.db", "is not the address of a database"),
        ("database", "sqlite://onthedot.db", "is not the address of a database"),
        ("database", "sqlite:///", "is not the address of a database"),
        ("database", "sqlite:///:memory:", "would be lost"),
        ("database", 5, "not text"),
        ("server", "localhost:8467", "is not a web address"),
        ("server", "http://localhost:port", "is not a web address"),
        ("server", "ftp://localhost", "is not a web address"),
        ("server", "http://me:secret@localhost", "ONTHEDOT_API_KEY"),
    ],
)
def test_a_wrong_value_is_refused_with_its_source_and_a_hint(tmp_path, name, value, said):
    error = refusal(tmp_path, **{name: value})

    assert said in f"{error.message} {error.hint}"
    assert error.hint
    assert error.field == name


def test_a_wrong_role_is_met_with_the_nearest_known_one(tmp_path):
    assert refusal(tmp_path, roles="api,wroker").hint == "Did you mean worker?"


@pytest.mark.parametrize("url", ["postgresql://db/onthedot", "postgres://db/onthedot"])
def test_a_database_may_be_postgresql(tmp_path, url):
    settings = load({"database": url}, environ={}, folder=tmp_path)

    assert settings.on_postgres
    assert settings.database == url


@pytest.mark.parametrize(("text", "meaning"), [("yes", True), ("No", False), ("0", False)])
def test_prepared_statements_can_be_switched_off(tmp_path, text, meaning):
    settings = load({}, environ={"ONTHEDOT_PREPARED": text}, folder=tmp_path)

    assert settings.prepared is meaning


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("yes", True),
        ("no", False),
        ("postgresql://me@db/onthedot", "postgresql://me@db/onthedot"),
    ],
)
def test_notifications_can_be_switched_off_or_taken_past_a_pooler(tmp_path, text, meaning):
    settings = load(environ={"ONTHEDOT_NOTIFY": text}, folder=tmp_path)

    assert settings.notify == meaning


@pytest.mark.parametrize("key", ["", "two words", "schlüssel", " padded", "line\nbreak"])
def test_a_wrong_api_key_is_refused_without_repeating_it(tmp_path, key):
    with pytest.raises(WrongUse) as caught:
        load(environ={"ONTHEDOT_API_KEY": key}, folder=tmp_path)

    assert "api_key (from ONTHEDOT_API_KEY)" in caught.value.message
    assert not key or key not in caught.value.message


def test_an_api_key_that_can_be_guessed_is_refused_with_a_way_to_make_one(tmp_path):
    with pytest.raises(WrongUse) as caught:
        load(environ={"ONTHEDOT_API_KEY": "k" * 19}, folder=tmp_path)

    assert "has 19 characters, at least 20 are needed" in caught.value.message
    assert "openssl rand -hex 32" in caught.value.hint
    assert load(environ={"ONTHEDOT_API_KEY": "k" * 20}, folder=tmp_path).api_key == "k" * 20


@pytest.mark.parametrize(
    "name", ["http://jobs.example.com", "jobs.example.com:8467", "*.example.com", "me@example.com"]
)
def test_an_allowed_host_that_is_more_than_a_name_is_refused(tmp_path, name):
    with pytest.raises(WrongUse) as caught:
        load(environ={"ONTHEDOT_ALLOWED_HOSTS": f"localhost,{name}"}, folder=tmp_path)

    assert caught.value.field == "allowed_hosts"
    assert name in caught.value.message


def test_the_api_key_is_never_shown(tmp_path):
    settings = load(environ={"ONTHEDOT_API_KEY": "hush-hush-hush-hush-hush"}, folder=tmp_path)

    assert settings.api_key == "hush-hush-hush-hush-hush"
    assert "hush" not in repr(settings)


def test_notices_are_signed_with_one_secret_or_two(tmp_path):
    first, second = "a-secret-of-some-length", "another-one-of-some-length"

    one = load(environ={"ONTHEDOT_WEBHOOK_SECRET": first}, folder=tmp_path)
    two = load(environ={"ONTHEDOT_WEBHOOK_SECRET": f"{first}, {second}"}, folder=tmp_path)

    assert (one.webhook_secrets, two.webhook_secrets) == ((first,), (first, second))
    assert "a-secret" not in repr(one)


@pytest.mark.parametrize("secret", ["short-one", "a-secret-of-some-length,", "x" * 20 + ",y" * 30])
def test_a_secret_that_is_easily_guessed_is_refused_without_repeating_it(tmp_path, secret):
    with pytest.raises(WrongUse, match="at least 16 characters") as caught:
        load(environ={"ONTHEDOT_WEBHOOK_SECRET": secret}, folder=tmp_path)

    assert secret not in caught.value.message
    assert "openssl rand" in (caught.value.hint or "")


def test_an_unknown_key_in_the_file_is_refused_with_the_nearest_name(tmp_path):
    with pytest.raises(WrongUse, match="unknown setting 'prot'") as caught:
        load(environ={}, folder=in_file(tmp_path, "prot = 80\n"))

    assert caught.value.hint == "Did you mean port?"


def test_a_key_like_no_other_is_refused_with_all_names(tmp_path):
    with pytest.raises(WrongUse) as caught:
        load(environ={}, folder=in_file(tmp_path, "[zzzzzz]\nx = 1\n"))

    assert "database, host, port" in caught.value.hint


def test_an_unknown_variable_is_only_warned_of(tmp_path):
    settings = load(
        environ={"ONTHEDOT_DATABSE": "x", "ONTHEDOT_DEBUG": "1", "PATH": "x"}, folder=tmp_path
    )

    assert settings.warnings == (
        "ONTHEDOT_DATABSE is not a setting and is ignored. Did you mean ONTHEDOT_DATABASE?",
    )


@pytest.mark.parametrize("text", ["port = ", "port = 1\nport = 2", "= 5"])
def test_a_file_that_is_not_toml_is_refused(tmp_path, text):
    with pytest.raises(WrongUse, match="not valid TOML"):
        load(environ={}, folder=in_file(tmp_path, text))


def test_a_file_that_is_not_text_is_refused(tmp_path):
    (tmp_path / "onthedot.toml").write_bytes(b"\xff\xfe")

    with pytest.raises(WrongUse, match="not valid TOML"):
        load(environ={}, folder=tmp_path)


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    (tmp_path / "onthedot.toml").mkdir()

    with pytest.raises(WrongUse, match="cannot be read"):
        load(environ={}, folder=tmp_path)


def test_a_huge_value_is_shortened_in_the_error(tmp_path):
    assert len(refusal(tmp_path, log_level="x" * 5000).message) < 200


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("LOCALHOST", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.0.5", False),
        ("localhost.example.com", False),
    ],
)
def test_loopback_is_known_when_it_is_seen(host, expected):
    assert is_loopback(host) is expected


def test_a_public_bind_without_a_key_cannot_start():
    with pytest.raises(CannotStart) as caught:
        Settings(host="0.0.0.0").check_bind()

    assert not isinstance(caught.value, WrongUse)
    assert "ONTHEDOT_API_KEY" in caught.value.hint


@pytest.mark.parametrize(
    "settings",
    [
        Settings(),
        Settings(host="::1"),
        Settings(host="0.0.0.0", api_key="k" * 32),
        Settings(host="0.0.0.0", roles=("worker",)),
    ],
)
def test_what_nobody_else_can_reach_or_a_key_guards_can_start(settings):
    settings.check_bind()

    assert "api" not in settings.roles or settings.api_key or is_loopback(settings.host)


def test_every_setting_is_declared_with_a_sentence():
    assert {setting.name for setting in SETTINGS} == {
        *("database", "host", "port", "roles", "api_key", "slots", "grace", "retention"),
        *("queues", "app", "runners", "pool", "prepared", "notify", "server", "log_level"),
        *("webhook_secret", "functions_database", "allowed_hosts", "connections"),
    }
    assert all(setting.about.endswith(".") for setting in SETTINGS)
