"""What the end of a run leaves behind, and whether anything follows."""

from __future__ import annotations

import pytest

from onthedot.core.ending import EndedRun
from onthedot.core.states import OVER, Status
from onthedot.core.traits import AT_MOST_ONCE, FIXED_DELAY


def ended(status: Status, traits: int) -> EndedRun:
    return EndedRun(
        *(1, 2 << 10, 1, 3, 1, status, 2, 3, 4, 5, 0, None, None, None, None, traits),
    )


@pytest.mark.parametrize("status", sorted(OVER))
def test_what_failed_or_was_lost_leaves_a_dead_letter(status):
    assert ended(status, 0).is_failure == (status in (Status.FAILED, Status.LOST))


@pytest.mark.parametrize("status", sorted(OVER))
@pytest.mark.parametrize("traits", [0, FIXED_DELAY, AT_MOST_ONCE, FIXED_DELAY | AT_MOST_ONCE])
def test_nothing_follows_unless_it_failed_or_is_the_link_of_a_chain(status, traits):
    followed = status in (Status.FAILED, Status.LOST) or traits & FIXED_DELAY != 0

    assert ended(status, traits).is_followed == followed
