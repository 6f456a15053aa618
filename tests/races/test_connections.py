"""Whatever becomes of a connection, callers hear of it in our words: what is no answer about their
data must never be taken for one.
"""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from onthedot.errors import StoreUnavailable
from onthedot.store.postgres.database import PoolSettings, PostgresDatabase
from tests.support.postgres import drop_database, new_database

CUTS = 150
ASKERS = 4
END_ONE = """
    select pg_terminate_backend(pid)
    from pg_stat_activity
    where datname = current_database() and application_name = 'onthedot'
    order by random()
    limit 1
"""


async def ask_until(over: asyncio.Event, database: PostgresDatabase) -> list[Exception]:
    """Every error that callers got."""
    errors: list[Exception] = []
    while not over.is_set():
        try:
            assert await database.value("select 7") == 7
        except Exception as error:  # noqa: BLE001  (which ones come is the question)
            errors.append(error)
    return errors


async def test_a_connection_that_the_server_ends_is_an_outage_at_whatever_moment(packaged):
    name = await new_database(packaged)
    database = await PostgresDatabase.open(packaged.url(name), PoolSettings(size=ASKERS))
    ending, over = await asyncpg.connect(packaged.url(name)), asyncio.Event()
    asking = [asyncio.create_task(ask_until(over, database)) for _ in range(ASKERS)]

    for _ in range(CUTS):
        await ending.execute(END_ONE)
    over.set()
    errors = [error for each in await asyncio.gather(*asking) for error in each]

    assert errors, "no connection was ended while it was used"
    assert {type(error) for error in errors} == {StoreUnavailable}
    await database.close()
    await ending.close()
    await drop_database(packaged, name)


@pytest.mark.parametrize("value", [1 << 70, "no number"])
async def test_a_value_that_cannot_be_sent_is_not_taken_for_an_outage(packaged, value):
    database = await PostgresDatabase.open(packaged.url(), PoolSettings(size=1))

    with pytest.raises(asyncpg.DataError):
        await database.value("select $1::bigint", value)

    await database.close()


async def test_a_disk_that_cannot_be_read_says_nothing_about_what_was_to_be_written(packaged):
    database = await PostgresDatabase.open(packaged.url(), PoolSettings(size=1))

    with pytest.raises(StoreUnavailable, match="could not read block"):
        await database.value(
            "do $$ begin raise 'could not read block 7' using errcode = 'io_error'; end $$"
        )

    await database.close()
