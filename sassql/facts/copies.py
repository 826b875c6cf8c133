"""Fact "copies": which values are one and the same, seen through moves, spills and trivial merges.

Two values with one root are equal bit by bit, always. Moves are the rows of
`sassql/isa/data/copies.tsv`; a spill slot equals what was stored, a load what was in the
slot; a ψ whose arms are one value and a φ whose inputs are one value are that value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sassql.facts.accesses import HIDDEN
from sassql.facts.forms import ByShape, Forms
from sassql.facts.values import SSA, ValueKind
from sassql.isa.copying import Copy, copy_of, is_plain
from sassql.model.kernel import Kernel, provides


@dataclass(slots=True, eq=False)
class Copies:
    """Copy classes of the values of "ssa". A root is the value that all others are copies of."""

    _parent: list[int]

    def root(self, value: int) -> int:
        """The value that ``value`` is a copy of; itself where it is none."""
        parent = self._parent
        top = value
        while parent[top] != top:
            top = parent[top]
        while parent[value] != top:
            parent[value], value = top, parent[value]
        return top

    def same(self, a: int, b: int) -> bool:
        """True where the two values are equal because one is a copy of the other, or both of a third."""
        return self.root(a) == self.root(b)

    def join(self, value: int, source: int) -> None:
        """Make ``value`` a copy of ``source``; for the analysis that builds the classes."""
        top = self.root(source)
        if top != value:
            self._parent[value] = top


@provides("copies")
def copies(kernel: Kernel) -> Copies:
    """The copy classes of a kernel."""
    ssa: SSA = kernel.fact("ssa")
    found = Copies(list(range(len(ssa))))
    _join_moves(kernel, ssa, found)
    _join_slots(kernel, ssa, found)
    _join_merges(ssa, found)
    return found


_copy = ByShape(copy_of, numbers=True)


def copies_by_instruction(kernel: Kernel) -> Iterator[tuple[int, Copy]]:
    """The instructions that copy, and what."""
    forms: Forms = kernel.fact("forms")
    made = {number: copy for number, form in enumerate(forms.distinct) if (copy := _copy(form)) is not None}
    for index, number in enumerate(forms.number):
        if number in made:
            yield index, made[number]


def _join_moves(kernel: Kernel, ssa: SSA, found: Copies) -> None:
    for index, copy in copies_by_instruction(kernel):
        if ssa.first[index] < 0:
            continue
        for offset, (operand, unit) in enumerate(ssa.accesses[index].def_keys):
            source = ssa.use(index, copy.source, unit) if operand == copy.destination else None
            if source is not None:
                found.join(ssa.first[index] + offset, source)


def _join_slots(kernel: Kernel, ssa: SSA, found: Copies) -> None:
    """Loads from and stores to spill slots; a slot that is written in part copies nothing."""
    forms: Forms = kernel.fact("forms")
    for index, access in ssa.slots.items():
        form = forms.of[index]
        for place, (operand, unit) in enumerate(access.use_keys):
            keys = ssa.accesses[index].def_keys
            if (operand, unit) in keys and ssa.first[index] >= 0:
                value = ssa.first[index] + keys.index((operand, unit))
                found.join(value, ssa.slot_read[index][place])
        for place, (operand, unit) in enumerate(access.def_keys):
            if operand != HIDDEN and is_plain(form.operands[operand]):
                source = ssa.use(index, operand, unit)
                if source is not None:
                    found.join(ssa.slot_first[index] + place, source)


def _join_merges(ssa: SSA, found: Copies) -> None:
    merges = [v for v, kind in enumerate(ssa.kind) if kind in (ValueKind.PHI, ValueKind.PSI)]
    while merges:
        left = []
        for value in merges:
            roots = {found.root(source) for source in ssa.inputs[value]} - {value}
            if len(roots) == 1:
                found.join(value, roots.pop())
            else:
                left.append(value)
        if len(left) == len(merges):
            return
        merges = left
