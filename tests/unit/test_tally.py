"""What a long run came to is added up by name."""

from tests.support.tally import lines


def test_numbers_of_the_same_name_are_added_up():
    told = [[("texts", 50_000), ("zones", 3)], [], [("texts", 950_000)]]

    assert lines(told) == ["  1,000,000  texts", "          3  zones"]
