"""From how many elements of one array a value is computed, whatever their places.

Loads of one base of which one can follow the other are two elements. Loads of which a thread executes
only one (each type of a conversion has its own) are one. A base that nobody knows is one array.

A merge takes one of its inputs, so they do not add up: an unrolled loop keeps an element in a register
that held another one before. A merge of rivals is an element of its own, and a rival of all that it is not.
Guarded instructions are looked at twice: once all of them run, once none. What decides is taken both times.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from sassql.engine.session import session
from sassql.engine.ways import Ways
from sassql.facts.addresses import Addresses, Base
from sassql.facts.slices import Slices
from sassql.facts.values import SSA, ValueKind
from sassql.isa.spaces import Space
from sassql.model.kernel import Kernel, provides

if TYPE_CHECKING:
    from sassql.engine.values import Unit

NONE, ONE, SEVERAL = 0, 1, 2
_OF_ARRAYS = (Space.GLOBAL, Space.GENERIC)
_MOST_VALUES = 40_000
"""In a kernel with more values than these, whatever may be several elements is several."""
_MOST_ROUNDS = 8
"""Merges of merges of rivals: those that are deeper count as all that they may be."""


class Elements:
    """What each value of a kernel takes, as bits: one for each load, and for each merge of rivals."""

    def __init__(self, kernel: Kernel) -> None:
        self._slices: Slices = kernel.fact("slices")
        self._ssa: SSA = kernel.fact("ssa")
        addresses: Addresses = kernel.fact("addresses")
        found = [a for a in addresses if a.access == "load" and a.space in _OF_ARRAYS]
        self._bit = {a.instruction: 1 << number for number, a in enumerate(found)}
        by_base: dict[Base, list[tuple[int, int]]] = {}
        for load in found:
            by_base.setdefault(load.base, []).append((load.instruction, self._bit[load.instruction]))
        self._rivals = _rivals(by_base.values(), session(kernel, everything=False).ways)
        self._merged: dict[int, int] = {}
        """By merge of rivals: its bit."""
        self._from: list[list[int]] = []
        self._to: list[list[int]] = []
        self._masks: list[int] = []
        self._several: set[int] = set()
        self._against: dict[int, int] = {}

    def of(self, units: Iterable[Unit]) -> int | None:
        """The most elements of one array that a register of a value takes; None where that is open."""
        most = NONE
        for unit in units:
            if isinstance(unit, int):
                found = self._slices.backward(unit)
                if not found.certain:
                    return None
                loads = sum(bit for index, bit in self._bit.items() if index in found.instructions)
                if self._has_rivals(loads) and self._takes_several(unit):
                    return SEVERAL
                most = max(most, ONE if loads else NONE)
        return most

    def _takes_several(self, value: int) -> bool:
        if not self._masks:
            self._solve()
        return value in self._several

    def _solve(self) -> None:
        values = range(len(self._ssa.kind))
        if len(values) > _MOST_VALUES:
            self._masks, self._several = [0], set(values)
            return
        for runs in (True, False):
            self._several |= self._in_world(runs)

    def _in_world(self, runs: bool) -> set[int]:
        """The values that take several elements where guarded instructions run, or where they do not."""
        values = range(len(self._ssa.kind))
        self._from = [[*self._data(value, runs), *self._slices.deciding(value)] for value in values]
        self._to = [[] for _ in values]
        for value in values:
            for source in self._from[value]:
                self._to[source].append(value)
        for _ in range(_MOST_ROUNDS):
            self._spread()
            if not self._merge_rivals():
                break
        self._against.clear()
        several = {value for value in values if self._has_rivals(self._masks[value])}
        pending = list(several)
        while pending:
            for user in self._to[pending.pop()]:
                if user not in several:
                    several.add(user)
                    pending.append(user)
        return several

    def _data(self, value: int, runs: bool) -> tuple[int, ...]:
        """What the instruction of a value reads, or what a merge takes."""
        found = self._slices.step(value).values
        if self._ssa.kind[value] is not ValueKind.PSI or len(found) == 1:
            return found
        return found[:1] if runs else found[1:]

    def _spread(self) -> None:
        """What each value takes, with the merges of rivals that are known."""
        masks = self._masks = [self._merged.get(v, 0) or self._own(v) for v in range(len(self._from))]
        pending = [value for value, mask in enumerate(masks) if mask]
        while pending:
            for user in self._to[pending.pop()]:
                mask = masks[user] | self._all(self._from[user])
                if mask != masks[user] and user not in self._merged:
                    masks[user] = mask
                    pending.append(user)

    def _all(self, values: Iterable[int]) -> int:
        mask = 0
        for value in values:
            mask |= self._masks[value]
        return mask

    def _own(self, value: int) -> int:
        if self._ssa.kind[value] is not ValueKind.DEF:
            return 0
        return self._bit.get(self._ssa.instruction[value], 0)

    def _merge_rivals(self) -> bool:
        """Give each merge that has rivals among its inputs a bit of its own; whether there was a new one."""
        self._against.clear()
        new = {}
        for value, kind in enumerate(self._ssa.kind):
            if kind is ValueKind.PHI and value not in self._merged and self._has_rivals(self._masks[value]):
                ways = [self._all(way) for way in self._slices.ways(value)]
                if not any(map(self._has_rivals, ways)):
                    new[value] = self._masks[value]
        for value, mask in new.items():
            bit = self._merged[value] = 1 << len(self._rivals)
            against = self._rivals_of(mask)
            self._rivals[bit] = against
            for other in _bits(against):
                self._rivals[other] |= bit
            self._against.clear()
        return bool(new)

    def _has_rivals(self, mask: int) -> bool:
        return bool(mask and self._rivals_of(mask) & mask)

    def _rivals_of(self, mask: int) -> int:
        found = self._against.get(mask)
        if found is None:
            found = 0
            for bit in _bits(mask):
                found |= self._rivals[bit]
            self._against[mask] = found
        return found


def _rivals(by_base: Iterable[list[tuple[int, int]]], ways: Ways) -> dict[int, int]:
    """By the bit of a load, those of others of its array that lie on one way with it."""
    found: dict[int, int] = {}
    for loads in by_base:
        places = [ways.of(index) for index, _ in loads]
        for number, (_, bit) in enumerate(loads):
            found.setdefault(bit, 0)
            for earlier in range(number):
                if ways.before(places[earlier], places[number], False):
                    found[bit] |= loads[earlier][1]
                    found[loads[earlier][1]] |= bit
    return found


def _bits(mask: int) -> Iterator[int]:
    while mask:
        yield mask & -mask
        mask &= mask - 1


@provides("elements")
def elements(kernel: Kernel) -> Elements:
    """How many elements of each array a value takes."""
    return Elements(kernel)
