"""A name that occurs twice in a JSON object is refused, wherever it is, however it is written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot.errors import Invalid
from onthedot.wire import JobIn, definition_of
from onthedot.wire.reading import read
from onthedot.wire.repeated import NAMES_MAX, refuse_repeated

JOB = '"name": "a", "handlerUrl": "http://127.0.0.1/"'


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ('{"name": "b", %s}', "name"),
        ('{"n\\u0061me": "b", %s}', "name"),
        ('{%s, "payload": 1, "payload": 2}', "payload"),
        ('{%s, "backoff": {"initial": 1, "initial": 2}}', "backoff.initial"),
        ('{%s, "backoff": {"initial": 1, "in\\u0069tial": 2}}', "backoff.initial"),
        ('{%s, "backoff": {"max": 9}, "backoff": {"max": 9}}', "backoff"),
        ('{%s, "payload": {"x": 1, "x": 1}}', "payload"),
        ('{%s, "payload": [{"deep": {"x": 1, "y": 2, "\\u0078": 3}}]}', "payload"),
    ],
)
def test_a_name_that_occurs_twice_is_refused_with_the_field(body, field):
    with pytest.raises(Invalid) as caught:
        definition_of(read((body % JOB).encode(), JobIn), now=0)

    assert caught.value.field == field
    assert "twice" in caught.value.message
    assert "once" in caught.value.hint


@pytest.mark.parametrize(
    "more",
    [
        '"payload": {"name": "name", "handlerUrl": {"name": "handlerUrl"}}',
        '"payload": [{"x": 1}, {"x": 1.0}, {"x": {"x": 1e2}}]',
        '"payload": "\\"name\\": \\"name\\""',
        '"payload": {"\\u0078": "\\u00e9\\/", "n": 12345678901234567890}, "tags": ["name"]',
        '"backoff": {"initial": 1, "max": 2}, "payload": {"initial": 1}',
    ],
)
def test_a_name_that_occurs_once_in_each_object_is_taken(more):
    job = definition_of(read(f"{{{JOB}, {more}}}".encode(), JobIn), now=0)

    assert job.name == "a"


NAMES = st.sampled_from(["a", "b", "\\u0061", "name", "\u00e9", "\\u00e9"])
VALUES = st.recursive(
    st.sampled_from(["1", "1.0", "1e2", "null", '"a"', '"\\u0061"', '"\\"a\\":"', "[]"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda each: f"[{', '.join(each)}]"),
        st.lists(st.tuples(NAMES, inner), max_size=3).map(
            lambda pairs: "{" + ",".join(f'"{name}" :{value}' for name, value in pairs) + "}"
        ),
    ),
    max_leaves=8,
)


@given(VALUES)
def test_a_payload_is_refused_exactly_if_a_name_occurs_twice_in_one_of_its_objects(payload):
    repeated = []

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        repeated.extend(["twice"] if len(dict(pairs)) < len(pairs) else [])
        return dict(pairs)

    json.loads(payload, object_pairs_hook=once)
    body = f'{{{JOB}, "payload": {payload}}}'.encode()

    if repeated:
        with pytest.raises(Invalid, match="twice"):
            definition_of(read(body, JobIn), now=0)
    else:
        assert definition_of(read(body, JobIn), now=0).name == "a"


def test_an_object_of_many_names_is_not_searched_for_each_of_them():
    """Ten thousand of them took half a second, on the event loop."""

    class Counted(str):
        __slots__ = ()
        searches = 0

        def count(self, *what: Any) -> int:
            Counted.searches += 1
            return super().count(*what)

    names = [f"field{n}" for n in range(10_000)]
    refuse_repeated(Counted("{" + ",".join(f'"{name}":1' for name in names) + "}"), names)

    assert Counted.searches <= NAMES_MAX
