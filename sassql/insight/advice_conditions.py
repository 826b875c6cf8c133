"""Which threads come to an instruction: the integer comparisons that hold there."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from sassql.facts.control import Condition as Held
from sassql.facts.control import Control
from sassql.facts.counters import Counters
from sassql.facts.polynomials import Atom, AtomKind, Polynomial, mentioned
from sassql.facts.values import ValueKind
from sassql.isa.compares import NEGATED, compare_of
from sassql.model.kernel import Kernel
from sassql.model.operands import RegisterOperand

THREAD = ("tid.", "ctaid.", "laneid")
EVALUATED = frozenset({"div", "mod", "min", "max", "umin", "umax", "and", "or", "xor", "sar", "product"})
"""Functions of which `sassql.insight.advice_evaluate` knows the number."""
_TOLD = (AtomKind.SPECIAL, AtomKind.PARAMETER)
_ONE = Polynomial.number(1)
_ALL, _ANY = "AND", "OR"


@dataclass(frozen=True, slots=True)
class Condition:
    """``left operator right`` of 32-bit words."""

    left: Polynomial
    operator: str
    right: Polynomial
    is_signed: bool

    def room(self) -> Polynomial | None:
        """What is left up to the limit, positive where the condition holds; None for ``==`` and ``!=``."""
        match self.operator:
            case "<":
                return self.right - self.left
            case "<=":
                return self.right - self.left + _ONE
            case ">":
                return self.left - self.right
            case ">=":
                return self.left - self.right + _ONE
        return None

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


class Conditions:
    """Reads predicates as comparisons."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.control: Control = kernel.fact("control")
        self.counters: Counters = kernel.fact("counters")
        self._deciders: dict[int, frozenset[int]] = {}

    def around(self, index: int) -> list[Held]:
        """The predicates that are decided where an instruction takes effect."""
        control = self.control
        found = dict(control.known(int(control.blocks.of[index])))
        guard, value = control.forms.of[index].guard, control.ssa.guard(index)
        if guard is not None and value is not None:
            found[control.copies.root(value)] = not guard.inverted
        return list(found.items())

    def of_threads(
        self, held: Iterable[Held], block: int, bounds: Collection[int], *, unrolled: bool
    ) -> tuple[tuple[Condition, ...], bool]:
        """The conditions that choose among threads; and whether there are others that may.

        ``bounds`` are predicates that end loops around, or in the family: those are counted elsewhere.
        ``unrolled``: what an earlier loop has left to do is part of how this one is unrolled.
        """
        found: dict[Condition, None] = {}
        unclear = False
        for root, holds in sorted(held):
            if root in bounds:
                continue
            conditions = self.read(root, holds, block)
            if conditions is None:
                unclear = True
                continue
            for condition in conditions:
                atoms = mentioned(condition.left, condition.right)
                if any(atom.scope is not None for atom in atoms):
                    unclear = unclear or not unrolled  # how far an earlier loop came
                    continue
                varies = any(atom.home >= 0 for atom in atoms)
                if varies or not (is_told(condition.left) and is_told(condition.right)):
                    unclear = True
                else:
                    found[condition] = None
        return tuple(found), unclear

    def deciders(self, index: int) -> frozenset[int]:
        """The branches that decide whether an instruction is reached, and those that decide about them."""
        start = int(self.control.blocks.of[index])
        if start not in self._deciders:
            found: set[int] = set()
            pending = [start]
            while pending:
                for branch in self.control.branches(pending.pop()):
                    if branch not in found:
                        found.add(branch)
                        pending.append(int(self.control.blocks.of[branch]))
            self._deciders[start] = frozenset(found)
        return self._deciders[start]

    def is_open(self, branches: Iterable[int], held: Iterable[Held], ends: Collection[int]) -> bool:
        """True where a branch decides by what is not among ``held``; ``ends`` are blocks that end loops."""
        roots = {root for root, _ in held}
        control = self.control
        for branch in branches:
            value = control.ssa.guard(branch)
            known = value is not None and control.copies.root(value) in roots
            if not known and int(control.blocks.of[branch]) not in ends:
                return True
        return False

    def read(self, root: int, holds: bool, block: int) -> list[Condition] | None:
        """A predicate as the comparisons that all hold; None for one of floats, or what is no conjunction."""
        ssa, forms = self.control.ssa, self.control.forms
        index = ssa.instruction[root]
        if index < 0 or ssa.kind[root] is not ValueKind.DEF:
            return None
        compare = compare_of(forms.of[index], ssa.operand[root])
        if compare is None or compare.wide:
            return None
        sides = [self._side(index, place, block) for place in (compare.left, compare.right)]
        if sides[0] is None or sides[1] is None:
            return None
        operator = compare.operator if holds else NEGATED[compare.operator]
        found = [Condition(sides[0], operator, sides[1], compare.is_signed)]
        if compare.alone:
            return found
        other, operand = ssa.use(index, compare.joined), forms.of[index].operands[compare.joined]
        if other is None or compare.how != (_ALL if holds else _ANY):
            return None
        inverted = isinstance(operand, RegisterOperand) and operand.inverted
        rest = self.read(self.control.copies.root(other), holds != inverted, block)
        return None if rest is None else found + rest

    def _side(self, index: int, place: int, block: int) -> Polynomial | None:
        found = self.counters.formulas.operand(index, place)
        return None if found is None else self.counters.seen_from(block, self.counters.resolve(found))


def is_told(polynomial: Polynomial) -> bool:
    """True where everything in a sum is known from the launch, or is a function that has a number."""
    return all(
        atom.scope is None
        and not (atom.data or atom.opaque)
        and (atom.kind in _TOLD or (atom.kind is AtomKind.FUNCTION and atom.name in EVALUATED))
        for atom in mentioned(polynomial)
    )


def is_of_thread(atom: Atom) -> bool:
    """True for thread and block numbers."""
    return atom.kind is AtomKind.SPECIAL and atom.name.startswith(THREAD)
