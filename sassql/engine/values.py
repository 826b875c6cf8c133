"""Values of one kernel as the engine compares them: SSA values modulo copies, and constants.

A *unit* is one 32-bit register's worth of value: the number of its copy class, or a tuple for
something that is no register (a constant bank, a number). A wide operand has several units.
"""

from __future__ import annotations

import struct
from functools import cached_property

from sassql.engine.divergence import Divergence
from sassql.facts.blocks import Blocks
from sassql.facts.constants import Constants
from sassql.facts.copies import Copies
from sassql.facts.values import SSA, ValueKind
from sassql.isa.classes import same_number
from sassql.isa.constant_reads import constant_read, place_of
from sassql.model.form import Form
from sassql.model.kernel import Kernel
from sassql.model.operands import (
    ConstantOperand,
    ImmediateOperand,
    MemoryOperand,
    Operand,
    RegisterOperand,
)

Unit = int | tuple[str | int | float, ...]
Units = tuple[Unit, ...]

_SIGN = 1 << 31


class Values:
    """What operands of a kernel's instructions hold; computes SSA when it is made."""

    def __init__(self, kernel: Kernel, diverged: Divergence) -> None:
        self._kernel = kernel
        self._diverged = diverged
        self._ssa: SSA = kernel.fact("ssa")
        self._copies: Copies = kernel.fact("copies")
        self._units: dict[int, Unit] = {}
        self._read: dict[tuple[int, int], Units | None] = {}

    @cached_property
    def _constants(self) -> Constants:
        found: Constants = self._kernel.fact("constants")
        return found

    def units(self, index: int, place: int) -> Units | None:
        """The value that operand ``place`` of instruction ``index`` reads or makes; None for none."""
        key = (index, place)
        if key not in self._read:
            self._read[key] = self._read_units(index, place)
        return self._read[key]

    def _read_units(self, index: int, place: int) -> Units | None:
        operand = self._operand(index, place)
        match operand:
            case RegisterOperand(index=None):
                return (("number", 0),)
            case RegisterOperand():
                found = [self._register(index, place, operand, unit) for unit in range(operand.width or 1)]
                return tuple(unit for unit in found if unit is not None) if None not in found else None
            case ConstantOperand():
                found_place = place_of(operand)
                return None if found_place is None else (("bank", *found_place),)
            case ImmediateOperand(value=value):
                return (("number", value),)
        return None

    def address_term(self, index: int, place: int, term: int) -> Units | None:
        """The value of one register of an address, the first being 0; descriptors do not count."""
        operand = self._operand(index, place)
        if not isinstance(operand, MemoryOperand) or term >= len(operand.terms):
            return None
        found = operand.terms[term]
        if found.register is None:
            return (("number", 0),)
        before = (
            operand.terms[:term]
            if operand.descriptor is None
            else (operand.descriptor, *operand.terms[:term])
        )
        first = sum(part.width or 1 for part in before if part.register is not None)
        used = [self._ssa.use(index, place, first + unit) for unit in range(found.width or 1)]
        return tuple(self.unit_of(v) for v in used if v is not None) if None not in used else None

    def guard(self, index: int) -> Units | None:
        """The predicate that guards instruction ``index``."""
        value = self._ssa.guard(index)
        return None if value is None else (self.unit_of(value),)

    def integer(self, index: int, place: int) -> int | None:
        """The integer in an operand: written, or proven to be in the register."""
        operand = self._operand(index, place)
        match operand:
            case ImmediateOperand(value=int() as value):
                return value
            case RegisterOperand(index=None):
                return 0
            case RegisterOperand():
                return self._constant(index, place)
        return None

    def is_number(self, index: int, place: int, number: int | float) -> bool:
        """True where the operand is ``number``; for a float, also a register that holds its bits."""
        operand = self._operand(index, place)
        if isinstance(operand, ImmediateOperand):
            return same_number(operand.value, number)
        held = self.integer(index, place)
        if held is None:
            return False
        if isinstance(number, float):
            bits = struct.unpack("<I", struct.pack("<f", number))[0] if abs(number) < 3e38 else None
            return held & 0xFFFFFFFF == bits or held == number
        return (held - number) % (1 << 32) == 0

    def _operand(self, index: int, place: int) -> Operand:
        return self._form(index).operands[place]

    def _form(self, index: int) -> Form:
        return self._kernel.forms[int(self._kernel.form_ids[index])]

    def _register(self, index: int, place: int, operand: RegisterOperand, unit: int) -> Unit | None:
        read = self._ssa.definition if operand.access.defines else self._ssa.use
        value = read(index, place, unit)
        return None if value is None else self.unit_of(value)

    def unit_of(self, value: int) -> Unit:
        """The copy class of a value; a word of a constant bank is the same wherever it is read."""
        root = self._copies.root(value)
        known = self._units.get(root)
        if known is None:
            self._units[root] = root  # what a φ that reaches itself is
            known = self._units[root] = self._parameter(root) or self._undiverged(root) or root
        return known

    def _undiverged(self, root: int) -> Unit | None:
        """What a φ is that joins the main way with a copy of it for diverged warps."""
        if not self._diverged or self._ssa.kind[root] is not ValueKind.PHI:
            return None
        blocks: Blocks = self._kernel.fact("blocks")
        before = blocks.predecessors[self._ssa.block[root]]
        copied = [block in self._diverged.blocks for block in before]
        if not any(copied) or len(self._ssa.inputs[root]) != len(before):
            return None
        pairs = zip(self._ssa.inputs[root], copied, strict=True)
        kept = {self.unit_of(source) for source, is_copy in pairs if not is_copy}
        return kept.pop() if len(kept) == 1 else None

    def _parameter(self, root: int) -> Unit | None:
        index = self._ssa.instruction[root]
        if index < 0 or self._ssa.kind[root] is not ValueKind.DEF or self._form(index).guard is not None:
            return None
        fetched = constant_read(self._form(index))
        return None if fetched is None else ("bank", fetched[0], fetched[1] + 4 * self._ssa.unit[root])

    def _constant(self, index: int, place: int) -> int | None:
        """The number in a register, signed."""
        value = self._ssa.use(index, place)
        pattern = None if value is None else self._constants[value]
        return None if pattern is None else pattern - ((pattern & _SIGN) << 1)
