"""Whatever is sent to the API, the fault is never the server's."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.integration.test_api_kit import JOB, PROBLEM, an_api

METHODS = st.sampled_from(["GET", "POST", "PATCH", "DELETE", "PUT", "HEAD", "OPTIONS"])
SEGMENTS = st.sampled_from(
    [
        *("v1", "jobs", "job-1", "job-2", "runs", "trigger", "cancel", "health", "static", "docs"),
        *("dead-letters", "redrive", "why", "metrics", ".."),
    ]
) | st.text(max_size=8)
QUERIES = st.dictionaries(
    st.sampled_from(["limit", "cursor"]) | st.text(max_size=4), st.text(max_size=8), max_size=2
)
# What a header may hold at all is the server's parser's affair: visible characters and spaces.
WORDS = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=12)
HEADERS = st.dictionaries(
    st.sampled_from(["Idempotency-Key", "If-Match", "Origin", "Content-Type", "If-None-Match"]),
    WORDS.map(str.strip),
    max_size=2,
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=4,
)
FIELDS = st.sampled_from(["name", "every", "delay", "payload", "paused", "version", "tags", "key"])
BODIES = st.binary(max_size=40) | st.dictionaries(FIELDS, VALUES).map(
    lambda said: json.dumps({**JOB, **said}).encode()
)
REQUESTS = st.tuples(METHODS, st.lists(SEGMENTS, max_size=5), QUERIES, HEADERS, BODIES)


@settings(
    deadline=None,
    max_examples=8,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.lists(REQUESTS, min_size=20, max_size=30))
async def test_no_request_makes_the_server_fail(requests: list[tuple[Any, ...]]):
    async with an_api() as api:
        await api.job(every=5)
        for method, segments, query, headers, body in requests:
            # Absolute, since httpx would take a path with two slashes for a host.
            path = "http://x/" + "/".join(quote(segment, safe="") for segment in segments)
            response = await api.client.request(
                method, path, params=query, headers=headers, content=body
            )

            assert response.status_code < 500, (method, path, query, headers, body)
            if response.status_code >= 400 and method != "HEAD":
                assert response.headers["content-type"] == PROBLEM
                assert response.json()["hint"]
