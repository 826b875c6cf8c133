"""Values of one kernel as the engine compares them: SSA values modulo copies, and constants.

A *unit* is one 32-bit register's worth of value: the number of its copy class, or a tuple for
something that is no register (a constant bank, a number). A wide operand has several units.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Protocol

from sassql.isa.classes import same_number
from sassql.model.kernel import Kernel
from sassql.model.operands import ConstantOperand, ImmediateOperand, Operand, RegisterOperand

Unit = int | tuple[str | int | float, ...]
Units = tuple[Unit, ...]


class _Ssa(Protocol):
    def use(self, index: int, operand: int, unit: int = 0) -> int | None: ...
    def guard(self, index: int) -> int | None: ...
    def definition(self, index: int, operand: int, unit: int = 0) -> int | None: ...


class _Copies(Protocol):
    def root(self, value: int) -> int: ...


class Values:
    """What operands of a kernel's instructions hold; computes SSA when it is made."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._ssa: _Ssa = kernel.fact("ssa")
        self._copies: _Copies = kernel.fact("copies")
        self._constants: Mapping[int, int] | None = None

    def units(self, index: int, place: int) -> Units | None:
        """The value that operand ``place`` of instruction ``index`` reads or makes; None for none."""
        operand = self._operand(index, place)
        match operand:
            case RegisterOperand(index=None):
                return (("number", 0),)
            case RegisterOperand():
                found = [self._register(index, place, operand, unit) for unit in range(operand.width or 1)]
                return None if None in found else tuple(unit for unit in found if unit is not None)
            case ConstantOperand(bank=bank, offset=offset):
                return (("bank", bank or 0, offset),)
            case ImmediateOperand(value=value):
                return (("number", value),)
        return None

    def guard(self, index: int) -> Units | None:
        """The predicate that guards instruction ``index``."""
        value = self._ssa.guard(index)
        return None if value is None else (self._copies.root(value),)

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
        return self._kernel.forms[int(self._kernel.form_ids[index])].operands[place]

    def _register(self, index: int, place: int, operand: RegisterOperand, unit: int) -> int | None:
        read = self._ssa.definition if operand.access.defines else self._ssa.use
        value = read(index, place, unit)
        return None if value is None else self._copies.root(value)

    def _constant(self, index: int, place: int) -> int | None:
        if self._constants is None:
            self._constants = self._kernel.fact("constants")
        value = self._ssa.use(index, place)
        return None if value is None else self._constants.get(value)
