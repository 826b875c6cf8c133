"""Which synchronisation lies on every way from one instruction to another; used by "memory_flow".

A kind lies between two instructions if no way leads from the first to the second past all
instructions of that kind. Guarded ones do not count: the thread may not execute them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from sassql.facts.blocks import Blocks
from sassql.facts.forms import ByShape, Forms
from sassql.facts.loops import NO_LOOP, Loops
from sassql.isa.sync import ORDERS, order_of
from sassql.model.form import Form
from sassql.model.kernel import Kernel

LOOP = "loop"
"""Not an instruction: the loop of the first ends in between, or goes on to its next iteration."""
_ANY = ""


class Orders:
    """Reachability between the instructions of one kernel, with and without synchronisation.

    All that counts of an instruction is its block and how much synchronisation stands before it
    there: instructions with the same *place* get the same answers, and those are kept.
    """

    def __init__(self, kernel: Kernel) -> None:
        blocks: Blocks = kernel.fact("blocks")
        self._loops: Loops = kernel.fact("loops")
        self._of: list[int] = blocks.of.tolist()
        self._start: list[int] = blocks.start.tolist()
        self._end: list[int] = blocks.end.tolist()
        self._successors = blocks.successors
        self._back = {(latch, loop.header) for loop in self._loops.loops for latch in loop.latches}
        self.at = _ordering(kernel)
        self._all = sorted(place for places in self.at.values() for place in places)
        self._in_block = {kind: self._grouped(places) for kind, places in self.at.items()}
        self._reach: dict[tuple[str, int], set[int]] = {}
        self._between: dict[tuple[int, int, int, int, bool], tuple[str, ...]] = {}

    def reaches(self, first: int, second: int) -> bool:
        """True where a way leads from ``first`` to ``second``, a loop's next iteration included."""
        start, end = self._of[first], self._of[second]
        return (start == end and first < second) or end in self._reached(_ANY, start)

    def between(self, first: int, second: int) -> tuple[str, ...]:
        """What lies on every way from ``first`` to ``second``: the strongest first, ``loop`` last."""
        start, end = self._of[first], self._of[second]
        ahead = start == end and first < second
        key = start, bisect_right(self._all, first), end, bisect_left(self._all, second), ahead
        known = self._between.get(key)
        if known is None:
            known = self._between[key] = self._new_between(first, second)
        return known

    def _new_between(self, first: int, second: int) -> tuple[str, ...]:
        found = [kind for kind in ORDERS if self.at[kind] and not self._free(kind, first, second)]
        ended = self._loop_of(first) not in (NO_LOOP, *self._loops.enclosing(self._of[second]))
        if ended or not self._free(LOOP, first, second):
            found.append(LOOP)
        return tuple(found)

    def instructions(self, kind: str, first: int, second: int) -> tuple[int, ...]:
        """The instructions of a kind that a way from ``first`` to ``second`` meets."""
        return tuple(i for i in self.at.get(kind, ()) if self.reaches(first, i) and self.reaches(i, second))

    def following(self, block: int) -> set[int]:
        """Blocks that a way from the end of ``block`` leads to."""
        return self._reached(_ANY, block)

    def _loop_of(self, index: int) -> int:
        return self._loops.of[self._of[index]]

    def _grouped(self, places: Sequence[int]) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for index in places:
            found.setdefault(self._of[index], []).append(index)
        return found

    def _free(self, kind: str, first: int, second: int) -> bool:
        """True where a way leads from ``first`` to ``second`` without meeting ``kind``."""
        start, end = self._of[first], self._of[second]
        stops = self._in_block.get(kind, {})
        if start == end and first < second and not _any(stops.get(start, ()), first, second):
            return True
        if _any(stops.get(start, ()), first, self._end[start]):
            return False
        if _any(stops.get(end, ()), self._start[end] - 1, second):
            return False
        return end in self._reached(kind, start)

    def _reached(self, kind: str, block: int) -> set[int]:
        """Blocks whose start is reached from the end of ``block`` through blocks without ``kind``."""
        key = (kind, block)
        if key not in self._reach:
            stops = self._in_block.get(kind, {})
            seen: set[int] = set()
            pending = [block]
            while pending:
                here = pending.pop()
                for target in self._successors[here]:
                    if target in seen or (kind == LOOP and (here, target) in self._back):
                        continue
                    seen.add(target)
                    if target not in stops:
                        pending.append(target)
            self._reach[key] = seen
        return self._reach[key]


def _any(places: Sequence[int], after: int, before: int) -> bool:
    """True where one of the sorted ``places`` lies between, both ends left out."""
    return bisect_right(places, after) < bisect_left(places, before)


def _ordering(kernel: Kernel) -> dict[str, list[int]]:
    """By kind, the instructions that always order, in address order."""
    forms: Forms = kernel.fact("forms")
    found: dict[str, list[int]] = {kind: [] for kind in ORDERS}
    for index in forms.places(_order):
        found[_order(forms.of[index])].append(index)
    return found


def _always_orders(form: Form) -> str:
    return order_of(form) if form.shape.guard is None else ""


_order = ByShape(_always_orders, numbers=False)
