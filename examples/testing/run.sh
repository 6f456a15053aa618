#!/bin/sh
# The test that is a coroutine needs pytest-asyncio.
set -eu
python3 -m pytest -q -p no:cacheprovider
