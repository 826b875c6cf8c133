"""Values of one kernel as the engine compares them: SSA values modulo copies, and constants.

A *unit* is one 32-bit register's worth of value: the number of its copy class, or a tuple for
something that is no register (a constant bank, a number). A wide operand has several units.
"""

from __future__ import annotations

import struct
from functools import cached_property

from sassql.facts.constants import Constants
from sassql.facts.copies import Copies
from sassql.facts.values import SSA, ValueKind
from sassql.isa.classes import same_number
from sassql.isa.constant_reads import constant_read, place_of
from sassql.model.form import Form
from sassql.model.kernel import Kernel
from sassql.model.operands import ConstantOperand, ImmediateOperand, Operand, RegisterOperand

Unit = int | tuple[str | int | float, ...]
Units = tuple[Unit, ...]

_SIGN = 1 << 31


class Values:
    """What operands of a kernel's instructions hold; computes SSA when it is made."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._ssa: SSA = kernel.fact("ssa")
        self._copies: Copies = kernel.fact("copies")
        self._units: dict[int, Unit] = {}

    @cached_property
    def _constants(self) -> Constants:
        found: Constants = self._kernel.fact("constants")
        return found

    def units(self, index: int, place: int) -> Units | None:
        """The value that operand ``place`` of instruction ``index`` reads or makes; None for none."""
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

    def guard(self, index: int) -> Units | None:
        """The predicate that guards instruction ``index``."""
        value = self._ssa.guard(index)
        return None if value is None else (self._unit(value),)

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
        return None if value is None else self._unit(value)

    def _unit(self, value: int) -> Unit:
        """The copy class of a value; a word of a constant bank is the same wherever it is read."""
        root = self._copies.root(value)
        known = self._units.get(root)
        if known is None:
            known = self._units[root] = self._parameter(root) or root
        return known

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
