"""The values of a kernel in SSA form, and how instructions and values refer to each other.

Made by `sassql.facts.ssa`; apart from it because the builder fills it and everybody reads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from sassql.facts.accesses import HIDDEN, Access
from sassql.model.register import Register

GUARD = (HIDDEN, 0)
Use = tuple[int, int, int]


class ValueKind(Enum):
    """Where a value comes from."""

    ENTRY = "entry"
    """In the register when the function begins."""
    DEF = "def"
    """Written by an instruction; under a guard, what it writes where the guard holds."""
    PHI = "phi"
    """Joins the values of several ways into a block."""
    PSI = "psi"
    """What a register holds after a guarded definition: the new value or the old one."""
    CALL = "call"
    """What a register holds after a call that may write it (a slot: after a store that may), or after an
    instruction that the tables do not know: unknown."""


@dataclass(slots=True, eq=False)
class SSA:
    """Values by number; a value is one 32-bit register (or predicate) from one definition on.

    Lists have one element per value. ``instruction`` is the number of the defining
    instruction (of a CALL, what may have written it), else -1; ``operand`` and ``unit`` are its operand and
    which register of it, 0 for the lowest, else -1 and 0. ``inputs`` are values: of a PHI one
    per predecessor of its block, in the order of ``Blocks.predecessors``, and at the start
    of a function one more, last, for what was there before; of a PSI the new and the old
    one. ``block`` is where the value begins to exist.

    Registers of file ``L`` are spill slots: ``L16`` is the 32-bit word at offset 16 from
    the frame's base. Stores define them, loads read them (:meth:`slot_use`); ``operand`` is
    the stored one, or -1 for a store that writes the word in part.

    ``@!PT`` instructions define and read nothing.
    """

    kind: list[ValueKind] = field(default_factory=list)
    register: list[Register] = field(default_factory=list)
    instruction: list[int] = field(default_factory=list)
    operand: list[int] = field(default_factory=list)
    unit: list[int] = field(default_factory=list)
    inputs: list[tuple[int, ...]] = field(default_factory=list)
    block: list[int] = field(default_factory=list)
    accesses: Sequence[Access] = ()
    read: list[Sequence[int]] = field(default_factory=list)
    """By instruction, the values of its uses, in the order of its access."""
    first: list[int] = field(default_factory=list)
    """By instruction, the first value that it defines, or -1."""
    slots: Mapping[int, Access] = field(default_factory=dict)
    slot_read: dict[int, Sequence[int]] = field(default_factory=dict)
    slot_first: dict[int, int] = field(default_factory=dict)
    _users: dict[int, list[Use]] | None = None
    _merges: dict[int, list[int]] | None = None

    def __len__(self) -> int:
        return len(self.kind)

    def use(self, index: int, operand: int, unit: int = 0) -> int | None:
        """The value that an operand of instruction ``index`` reads; None for RZ, a number, a definition."""
        return _find(self.accesses[index].use_keys, (operand, unit), self.read[index])

    def guard(self, index: int) -> int | None:
        """The value of the guard's predicate; None where there is no guard."""
        return _find(self.accesses[index].use_keys, GUARD, self.read[index])

    def definition(self, index: int, operand: int, unit: int = 0) -> int | None:
        """The value that a destination names after the instruction: under a guard, the PSI."""
        return _defined(self.accesses[index], self.first[index], (operand, unit))

    def uses_of(self, index: int) -> tuple[Use, ...]:
        """(operand, unit, value) of everything read; operand -1 is the guard (unit 0) or hidden."""
        keys = self.accesses[index].use_keys
        return tuple((*key, value) for key, value in zip(keys, self.read[index], strict=True))

    def definitions_of(self, index: int) -> tuple[Use, ...]:
        """(operand, unit, value) of everything written: the values after the instruction."""
        access, first = self.accesses[index], self.first[index]
        offset = first + len(access.defs) if access.guarded else first
        return tuple((*key, offset + place) for place, key in enumerate(access.def_keys))

    def address_uses(self, index: int, operand: int) -> tuple[int, ...]:
        """The values of an address operand: its descriptor's registers, then its terms', lowest first."""
        keys = self.accesses[index].use_keys
        return tuple(v for key, v in zip(keys, self.read[index], strict=True) if key[0] == operand)

    def slot_use(self, index: int, unit: int = 0) -> int | None:
        """The value in the spill slot that a load reads, one per register of its destination."""
        access, found = self.slots.get(index), self.slot_read.get(index, ())
        return None if access is None or unit >= len(found) else found[unit]

    def slot_definition(self, index: int, unit: int = 0) -> int | None:
        """The value of the spill slot after a store, one per word written."""
        access = self.slots.get(index)
        return None if access is None else _defined_at(access, self.slot_first.get(index, -1), unit)

    def users(self, value: int) -> tuple[Use, ...]:
        """(instruction, operand, unit) of every read of ``value``, in order."""
        if self._users is None:
            self._users = {}
            for index, found in enumerate(self.read):
                keys = self.accesses[index].use_keys
                for (operand, unit), used in zip(keys, found, strict=True):
                    self._users.setdefault(used, []).append((index, operand, unit))
        return tuple(self._users.get(value, ()))

    def merges(self, value: int) -> tuple[int, ...]:
        """The PHI and PSI values that have ``value`` as an input."""
        if self._merges is None:
            self._merges = {}
            for merged, inputs in enumerate(self.inputs):
                for source in dict.fromkeys(inputs):
                    self._merges.setdefault(source, []).append(merged)
        return tuple(self._merges.get(value, ()))


def _find(keys: Sequence[tuple[int, int]], key: tuple[int, int], values: Sequence[int]) -> int | None:
    return values[keys.index(key)] if key in keys else None


def _defined(access: Access, first: int, key: tuple[int, int]) -> int | None:
    return _defined_at(access, first, access.def_keys.index(key)) if key in access.def_keys else None


def _defined_at(access: Access, first: int, place: int) -> int | None:
    if first < 0 or not 0 <= place < len(access.defs):
        return None
    return first + place + (len(access.defs) if access.guarded else 0)
