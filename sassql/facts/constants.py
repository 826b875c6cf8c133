"""Fact "constants": values that are known numbers, as 32-bit patterns (0 or 1 for a predicate).

Integers only: a float constant is the pattern of its bits. Folding is exact, and goes
through copies, spill slots and φ whose inputs are one number; a loop counter is none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sassql.facts.accesses import HIDDEN, Key
from sassql.facts.copies import Copies, copies_by_instruction
from sassql.facts.forms import ByShape, Forms
from sassql.facts.values import SSA, ValueKind
from sassql.isa.copying import Copy, literal
from sassql.isa.folding import Fold, folds_of
from sassql.model.form import Form
from sassql.model.kernel import Kernel, provides
from sassql.model.operands import RegisterOperand

_WORD = 0xFFFFFFFF
_PREDICATES = ("P", "UP")
_fold_of = ByShape(folds_of, numbers=False)


@dataclass(slots=True, eq=False)
class Constants:
    """Known numbers of a kernel, by value and by operand."""

    kernel: Kernel
    ssa: SSA
    copies: Copies
    forms: Forms
    known: dict[int, int] = field(default_factory=dict)
    """By root of a copy class."""

    def __getitem__(self, value: int) -> int | None:
        """The 32-bit pattern of a value of "ssa", or None."""
        return self.known.get(self.copies.root(value))

    def form(self, index: int) -> Form:
        return self.forms.of[index]

    def operand(self, index: int, operand: int) -> int | None:
        """The pattern of a whole operand of instruction ``index``, its sign and ``~`` applied; or None.

        Registers beside each other make one number, the lower one its low half. A float
        written in the text has no pattern here, since the instruction decides its format.
        """
        found = self.form(index).operands[operand]
        width = (found.width or 1) if isinstance(found, RegisterOperand) else 1
        if (number := literal(found, width)) is not None:
            return number
        if not isinstance(found, RegisterOperand) or found.absolute or found.suffixes:
            return None
        parts = [self._part(index, operand, unit) for unit in range(width)]
        if any(part is None for part in parts):
            return None
        number = sum((part or 0) << 32 * unit for unit, part in enumerate(parts))
        if found.file in _PREDICATES:
            return number ^ found.inverted
        number = ~number if found.inverted else number
        return (-number if found.negated else number) & ((1 << 32 * width) - 1)

    def _part(self, index: int, operand: int, unit: int) -> int | None:
        value = self.ssa.use(index, operand, unit)
        return None if value is None else self[value]


@provides("constants")
def constants(kernel: Kernel) -> Constants:
    """The known numbers of a kernel."""
    ssa: SSA = kernel.fact("ssa")
    copies: Copies = kernel.fact("copies")
    found = Constants(kernel, ssa, copies, kernel.fact("forms"))
    known = found.known
    _add_literals(found)
    open_folds = _folds(kernel, ssa)
    merges = [v for v, kind in enumerate(ssa.kind) if kind in (ValueKind.PHI, ValueKind.PSI)]
    while True:  # usually twice round: values come after what they are made of, φ aside
        before = len(known)
        open_folds = [task for task in open_folds if not _fold(found, task)]
        for value in merges:
            if copies.root(value) == value and value not in known:
                numbers = {found[source] for source in ssa.inputs[value]}
                if len(numbers) == 1 and (number := numbers.pop()) is not None:
                    known[value] = number
        if len(known) == before:
            return found


def _add_literals(found: Constants) -> None:
    """Moves of a number, and slots that zeros are stored to."""
    ssa = found.ssa
    for index, copy in copies_by_instruction(found.kernel):
        if ssa.first[index] >= 0:
            keys = ssa.accesses[index].def_keys
            _add_literal(found, index, copy, [(ssa.first[index] + i, key) for i, key in enumerate(keys)])
    for index, access in ssa.slots.items():
        if access.def_keys and access.def_keys[0][0] != HIDDEN:
            stored = Copy(destination=access.def_keys[0][0], source=access.def_keys[0][0])
            first = ssa.slot_first[index]
            _add_literal(found, index, stored, [(first + i, key) for i, key in enumerate(access.def_keys)])


def _add_literal(found: Constants, index: int, copy: Copy, values: Iterable[tuple[int, Key]]) -> None:
    """Note the parts of a number that is copied to ``values``."""
    operands = found.form(index).operands
    number = literal(operands[copy.source], operands[copy.destination].width or 1)
    if number is None:
        return
    for value, (operand, unit) in values:
        if operand == copy.destination:
            found.known[value] = number >> 32 * unit & _WORD


def _folds(kernel: Kernel, ssa: SSA) -> list[tuple[int, Fold]]:
    """Instructions with a result that may fold, in order."""
    forms: Forms = kernel.fact("forms")
    by_form = {number: made for number, form in enumerate(forms.distinct) if (made := _fold_of(form))}
    return [
        (index, fold)
        for index, number in enumerate(forms.number)
        if number in by_form and ssa.first[index] >= 0
        for fold in by_form[number]
    ]


def _fold(found: Constants, task: tuple[int, Fold]) -> bool:
    """Try to fold one result; True where it is known now."""
    index, fold = task
    values = [found.operand(index, source) for source in fold.sources]
    form = found.form(index)
    if None in values or (result := fold.rule(form, [v for v in values if v is not None])) is None:
        return False
    ssa = found.ssa
    for offset, (operand, unit) in enumerate(ssa.accesses[index].def_keys):
        if operand == fold.result:
            found.known.setdefault(ssa.first[index] + offset, result >> 32 * unit & _WORD)
    return True
