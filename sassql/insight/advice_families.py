"""Which loops of the machine code are one loop of the source.

The compiler copies one loop into an unrolled loop, shorter ones and a remainder. Their counters are chained:
each goes on where the one before stopped. Here they are one *family*.
"""

from __future__ import annotations

from collections.abc import Iterable

from sassql.facts.addresses import Address
from sassql.facts.choices import substitute, substitute_inside
from sassql.facts.control import Control
from sassql.facts.counters import Counters
from sassql.facts.loops import Loops
from sassql.facts.polynomials import ZERO, Atom, AtomKind, Polynomial, mentioned
from sassql.model.kernel import Kernel

_JOINS = ("join", "entry")


class Families:
    """The loops of a kernel by family."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.loops: Loops = kernel.fact("loops")
        self.counters: Counters = kernel.fact("counters")
        self.control: Control = kernel.fact("control")
        self.family = self._families()

    def loops_of(self, loop: int) -> tuple[int, ...]:
        """The family of a loop, ascending."""
        return tuple(n for n, family in enumerate(self.family) if family == self.family[loop])

    def _families(self) -> list[int]:
        """By loop, the smallest number of its family."""
        family = list(range(len(self.loops)))
        for number in range(len(self.loops)):
            found = self.counters[number]
            sums = [c.init for c in found.counters]
            sums += [side for bound in found.bounds for side in (bound.left, bound.right)]
            for earlier in self.left_behind(sums, number):
                one, two = sorted((family[earlier], family[number]))
                family = [one if f == two else f for f in family]
        return family

    def left_behind(self, sums: Iterable[Polynomial], loop: int) -> set[int]:
        """The sibling loops whose last count is in some sums."""
        found = {a.number for a in mentioned(*sums) if a.kind is AtomKind.COUNTER and a.scope is not None}
        found |= {
            inner.number
            for a in mentioned(*sums)
            if a.scope is not None
            for inner in a.inside
            if inner.kind is AtomKind.COUNTER
        }
        return {n for n in found if n != loop and self.loops[n].parent == self.loops[loop].parent}

    def inside(self, members: list[Address], loop: int) -> list[Address]:
        return [m for m in members if self.loops.of[m.block] == loop]

    def guard(self, address: Address) -> tuple[int, bool] | None:
        """The predicate of the instruction's own guard, and whether it must hold."""
        guard = self.control.forms.of[address.instruction].guard
        value = self.control.ssa.guard(address.instruction)
        return (
            None if guard is None or value is None else (self.control.copies.root(value), not guard.inverted)
        )

    def origin(self, polynomial: Polynomial, family: tuple[int, ...]) -> Polynomial:
        """What a sum is before any loop of a family has run."""

        def replaced(atom: Atom) -> Polynomial | None:
            if atom.kind is AtomKind.COUNTER and atom.number in family:
                return Polynomial.number(0 if atom.scope is None else -1)
            if atom.name in _JOINS and atom.args:
                arms = [substitute(arg, replaced) for arg in atom.args]
                if all(arm == arms[0] for arm in arms):
                    return arms[0]
                if any(not arm.terms for arm in arms):  # the way past a copy that has no loop
                    return ZERO
            return substitute_inside(atom, replaced) if atom.args else None

        return substitute(polynomial, replaced)
