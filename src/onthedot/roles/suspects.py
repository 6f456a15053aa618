"""Calls under which runner processes have died: they are made again one at a time, each alone."""

from __future__ import annotations

from collections import Counter

from onthedot.core.killers import Killers

DEADLY_MAX = 2
"""Of a function that is set apart: the call that is made, and the next one. In the queue they can
wait for as long as they like, here for 15 seconds."""


class Suspects:
    """How many there are of each function, and for how many more of its runs there is room.

    Since one is called at a time, all of them together hold one slot; those above the number of
    slots hold one each. When half as many of a function wait as there are slots, no more of its
    runs are taken. Once it is known as a killer, its calls are suspects from the beginning, and all
    but two of its runs stay in the queue or go back there, for other workers or for later; of one
    that does not end, all but its share of the processes for such.
    """

    def __init__(self, slots: int) -> None:
        self.killers = Killers()
        self.deadly = self.killers.apart
        self.slotless = 0
        self._slots = slots
        self.calls: dict[object, str] = {}
        self._counts: Counter[str] = Counter()

    def __bool__(self) -> bool:
        return bool(self.calls or self.deadly)

    def add(self, call: object, function: str) -> None:
        if call not in self.calls:
            self.calls[call] = function
            self._counts[function] += 1
            self._share()

    def end(self, call: object) -> bool:
        """Whether it was one."""
        function = self.calls.pop(call, None)
        if function is None:
            return False
        self._counts[function] -= 1
        if not self._counts[function]:
            del self._counts[function]
        self._share()
        return True

    def _share(self) -> None:
        self.slotless = min(max(0, len(self.calls) - 1), self._slots)

    def room(self, function: str) -> int:
        """How many more of its runs may be started."""
        most = DEADLY_MAX if function in self.deadly else max(DEADLY_MAX, self._slots // 2)
        if function in self.killers.stuck:
            most = max(DEADLY_MAX, min(self.killers.share(), self._slots))
        return max(0, most - self._counts[function])

    def crowded(self) -> set[str]:
        """Functions of which no run may be started."""
        return {function for function in self._counts if not self.room(function)}

    def deadly_room(self) -> int:
        """How many runs may be leased at once from lanes of which some are those of deadly
        functions, so that none has to go back.
        """
        return min((room for each in self.deadly if (room := self.room(each))), default=0)
