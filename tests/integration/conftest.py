"""One server and one receiver for all tests that may share them; each test has jobs of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.test_server_kit import Json, Stage
from tests.support.receiver import Receiver
from tests.support.server import Server


@pytest.fixture(scope="session")
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, receiver: Receiver) -> Iterator[Stage]:
    with Server(tmp_path_factory.mktemp("shared")) as server:
        yield Stage(server, receiver)


@pytest.fixture(scope="session")
def every_minute(shared: Stage) -> Json:
    """A cron job that was made as early as possible, since its first minute has to come."""
    return shared.job(name="every minute", cronExpr="* * * * *")


@pytest.fixture
def stage(shared: Stage, every_minute: Json) -> Iterator[Stage]:
    """The shared server; what the test makes there is deleted when it ends."""
    stage = Stage(shared.server, shared.receiver)
    yield stage
    stage.clean()
