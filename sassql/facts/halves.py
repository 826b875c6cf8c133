"""Fact "halves": permutations whose upper half nothing can see.

    PRMT R14, R9, 0x7610, R14      a half of R9; above it stays what was in R14
    STG.E.U16 [R2], R14            sees the low half only

Values of 16 bits share registers with what was there before, often another element.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sassql.facts.addresses import Addresses
from sassql.facts.copies import Copies
from sassql.facts.forms import Forms
from sassql.facts.values import SSA
from sassql.isa.meanings import templates
from sassql.model.form import Form
from sassql.model.kernel import Kernel, provides
from sassql.model.operands import ImmediateOperand

MOST_STEPS = 64
"""Values that are looked at behind one permutation."""
_HALF = 2
_UPPER = 16
_LOW_FROM_FIRST = (0x10, 0x32)
_BY_BITS = frozenset(("add", "and", "or", "xor", "not", "logic"))
"""Operations whose low half depends on low halves only."""
_PERMUTE = "permute"
_STORED = "value"


@provides("halves")
def halves(kernel: Kernel) -> frozenset[int]:
    """Instructions whose result is a half of their first source, wherever it matters."""
    return _Halves(kernel).found()


def _selector(form: Form) -> tuple[int, tuple[int, ...]] | None:
    """The bytes that a permutation by a number takes, and its operands (first source, selector, second)."""
    made = next((t for t in templates(form) if t.operation == _PERMUTE), None)
    if made is None or len(made.operands) != 3:
        return None
    selector = form.operands[made.operands[1]]
    if not isinstance(selector, ImmediateOperand) or not isinstance(selector.value, int):
        return None
    return selector.value, made.operands


@dataclass(slots=True)
class _Halves:
    kernel: Kernel
    ssa: SSA = field(init=False)
    forms: Forms = field(init=False)
    copies: Copies = field(init=False)
    addresses: Addresses = field(init=False)

    def __post_init__(self) -> None:
        fact = self.kernel.fact
        self.ssa, self.forms, self.copies = fact("ssa"), fact("forms"), fact("copies")
        self.addresses = fact("addresses")

    def found(self) -> frozenset[int]:
        """Those that take bytes 0 and 1 from the first source, and the upper ones from the second."""
        return frozenset(
            index
            for index, form in enumerate(self.forms.of)
            if (taken := _selector(form)) is not None
            and taken[0] & 0xFF in _LOW_FROM_FIRST
            and taken[0] & 0xCC00 == 0x4400
            and all(self._is_low(value) for _, _, value in self.ssa.definitions_of(index))
        )

    def _is_low(self, value: int) -> bool:
        pending, seen = [value], {value}
        while pending:
            following = self._after(pending.pop())
            if following is None or len(seen) > MOST_STEPS:
                return False
            pending += [after for after in following if after not in seen]
            seen.update(following)
        return True

    def _after(self, here: int) -> list[int] | None:
        """Values that hold the same half; None where more than the half is seen."""
        found = list(self.ssa.merges(here))
        for index, operand, _ in self.ssa.users(here):
            if self._stores_half(index, operand) or self._shifts_up(index, operand):
                continue
            copied = [v for _, _, v in self.ssa.definitions_of(index)]
            if not copied or not self._keeps(index, operand, copied, here):
                return None
            found += copied
        return found

    def _keeps(self, index: int, operand: int, made: list[int], here: int) -> bool:
        if all(self.copies.root(v) == self.copies.root(here) for v in made):
            return True
        form = self.forms.of[index]
        if {t.operation for t in templates(form)} <= _BY_BITS and templates(form):
            return True
        taken = _selector(form)
        if taken is None or operand not in (taken[1][0], taken[1][2]):
            return False
        first = 0 if operand == taken[1][0] else 4
        nibbles = [taken[0] >> 4 * byte & 0x7 for byte in range(4)]
        return not {first + 2, first + 3} & set(nibbles[:2])  # of the upper half, at most into an upper half

    def _shifts_up(self, index: int, operand: int) -> bool:
        """True for a shift, or a product, that leaves nothing of the upper half."""
        form = self.forms.of[index]
        for made in templates(form):
            others = [form.operands[place] for place in made.operands if place != operand]
            numbers = [
                o.value for o in others if isinstance(o, ImmediateOperand) and isinstance(o.value, int)
            ]
            if made.operation == "shift_left" and any(n >= _UPPER for n in numbers):
                return True
            if made.operation == "mul" and any(n and n % (1 << _UPPER) == 0 for n in numbers):
                return True
        return False

    def _stores_half(self, index: int, operand: int) -> bool:
        address = self.addresses.of(index)
        if address is None or address.access != "store" or operand < 0:
            return False
        role = self.forms.of[index].operands[operand].role
        return role == _STORED and address.width is not None and address.width <= _HALF
