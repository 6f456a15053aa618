"""Every pair of writing verbs, interleaved on a real PostgreSQL: the first is held open after its
statements, the second runs into it, then the first is committed or rolled back."""

from __future__ import annotations

import pytest

from tests.races.matrix import row_of_the_matrix
from tests.races.verbs import VERBS, Verb
from tests.races.world import BUILDERS
from tests.support.postgres import programs, shared
from tests.tiers import QUICK

PACKAGED, *INSTALLED = programs()


def row(verb: Verb, name: str) -> object:
    return pytest.param(verb, name, id=f"{verb.name}-{name}".replace(" ", "-"))


ROWS = [row(verb, name) for verb in VERBS for name in verb.worlds]
SHORT = [row(verb, verb.worlds[0]) for verb in VERBS if verb.worlds]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("first", "name"), ROWS)
async def test_whoever_runs_into_it_every_invariant_holds(packaged, get_stage, first, name):
    stage = await get_stage(packaged, name)

    found = await row_of_the_matrix(stage, first, rolling_back=not QUICK)

    assert not found, "\n".join(["", *found])


if INSTALLED:

    @pytest.mark.asyncio(loop_scope="module")
    @pytest.mark.parametrize("major", INSTALLED)
    @pytest.mark.parametrize(("first", "name"), SHORT)
    async def test_other_versions_of_postgres_lock_alike(get_stage, major, first, name):
        stage = await get_stage(shared(major), name)

        found = await row_of_the_matrix(stage, first, rolling_back=False)

        assert not found, "\n".join(["", *found])


def test_the_matrix_has_every_world_and_every_verb_once():
    assert {name for verb in VERBS for name in verb.worlds} == BUILDERS.keys()
    assert len({verb.name for verb in VERBS}) == len(VERBS)
