"""What equal instructions share: a statement shape, and a form (shape plus its numbers).

A library of 110,944 instructions has 36,501 distinct instruction words and about 660
statement shapes. Everything that can be said of a shape is said once; a form adds the
numbers; an instruction adds the address and the control bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from sassql.model.operands import ImmediateOperand, Operand
from sassql.model.register import Register, register, span

TARGET_HOLE = "`(@)"
"""Stands in a form's text for the branch target, which differs from place to place."""

GUARD_OPERAND = -1
"""Operand index of the guard, which is no operand."""


@dataclass(frozen=True, slots=True)
class RegisterSlot:
    """Where a shape keeps one register operand: the statement's number ``position``.

    ``operand`` is the index of the operand that holds it, or `GUARD_OPERAND`.
    """

    file: str
    position: int
    width: int | None
    defines: bool
    uses: bool
    operand: int
    mask_position: int = -1
    """Number that says how many of the registers are written (``LDG.E.ENL2.256``, ``TEX``), or -1."""
    count: Callable[[int], int] | None = None
    """How many, from that number."""

    def written(self, numbers: tuple[str, ...]) -> int:
        """Registers of the slot that a statement with these numbers has: the first so many."""
        if self.count is None or self.mask_position < 0:
            return self.width or 1
        return self.count(int(numbers[self.mask_position], 16))


@dataclass(frozen=True, slots=True)
class MaskedGroup:
    """Registers that one operand stands for, ``PR`` or ``UPR``: those of a mask, or the first ``count``.

    ``operand`` is the index of that operand, ``mask_position`` the place of the mask among the
    statement's numbers, or -1 where all of them take part.
    """

    operand: int
    file: str
    count: int
    mask_position: int
    defines: bool

    def registers(self, numbers: tuple[str, ...]) -> tuple[Register, ...]:
        """Those of a statement with these numbers, lowest first."""
        every = (1 << self.count) - 1
        mask = every & int(numbers[self.mask_position], 16) if self.mask_position >= 0 else every
        return tuple(register(self.file, i) for i in range(self.count) if mask >> i & 1)


@dataclass(frozen=True, slots=True)
class Guard:
    """``@!P0``: the instruction runs where the predicate holds (or does not)."""

    file: str
    index: int | None
    inverted: bool

    @property
    def register(self) -> Register | None:
        return None if self.index is None else register(self.file, self.index)

    @property
    def never(self) -> bool:
        """``@!PT``: the instruction is text only."""
        return self.index is None and self.inverted

    def __str__(self) -> str:
        name = ("UPT" if self.file == "UP" else "PT") if self.index is None else f"{self.file}{self.index}"
        return f"@{'!' if self.inverted else ''}{name}"


@dataclass(frozen=True, slots=True)
class Shape:
    """Everything that a statement with its numbers left out says.

    ``problem`` is set, and the rest is empty, where the grammar refuses the text.
    ``known`` is false for an opcode or operand form that the tables do not have: its
    registers are then guessed by nobody, and ``defs`` and ``uses`` are incomplete.
    """

    text: str
    opcode: str = ""
    modifiers: tuple[str, ...] = ()
    guard: Guard | None = None
    guard_position: int = -1
    builders: tuple[Callable[[tuple[str, ...]], Operand], ...] = ()
    printers: tuple[Callable[[tuple[str, ...]], str], ...] = ()
    slots: tuple[RegisterSlot, ...] = ()
    group: MaskedGroup | None = None
    known: bool = False
    target_operand: int = -1
    """Index of the operand that names a place in code, or -1."""
    problem: str = ""
    column: int = 0


@dataclass(slots=True, eq=False)
class Form:
    """One decoded instruction without its place: shared by every equal instruction of a program.

    ``text`` is nvdisasm's statement with :data:`TARGET_HOLE` for a branch target.
    ``hidden`` are registers that the text does not print (the sm_80 memory descriptor).
    """

    text: str
    shape: Shape
    numbers: tuple[str, ...]
    reuse: tuple[int, ...] = ()
    hidden: tuple[Register, ...] = ()
    _operands: tuple[Operand, ...] | None = field(default=None, repr=False)
    _defs: frozenset[Register] | None = field(default=None, repr=False)
    _uses: frozenset[Register] | None = field(default=None, repr=False)
    _likeness: tuple[str, ...] = field(default=(), repr=False)

    @property
    def opcode(self) -> str:
        return self.shape.opcode

    @property
    def modifiers(self) -> tuple[str, ...]:
        return self.shape.modifiers

    @property
    def guard(self) -> Guard | None:
        guard, position = self.shape.guard, self.shape.guard_position
        if guard is None or position < 0:
            return guard
        return Guard(guard.file, int(self.numbers[position]), guard.inverted)

    @property
    def operand_texts(self) -> tuple[str, ...]:
        """The operands as text, without making objects."""
        return tuple(text(self.numbers) for text in self.shape.printers)

    @property
    def operands(self) -> tuple[Operand, ...]:
        if self._operands is None:
            built = [build(self.numbers) for build in self.shape.builders]
            for place in self.reuse if built else ():
                built[place] = replace(built[place], reuse=True)
            self._operands = tuple(built)
        return self._operands

    @property
    def likeness(self) -> tuple[str, ...]:
        """Shape and written numbers: equal for forms that differ in registers and places only."""
        if not self._likeness:
            numbers = (repr(o.value) for o in self.operands if isinstance(o, ImmediateOperand))
            self._likeness = (self.shape.text, *numbers)
        return self._likeness

    @property
    def defs(self) -> frozenset[Register]:
        """Registers written where the guard holds; a guarded definition is a may-definition."""
        if self._defs is None:
            self._defs = self._registers(self._span(slot) for slot in self.shape.slots if slot.defines)
            if self.shape.group is not None and self.shape.group.defines:
                self._defs = self._defs.union(self.group)
        return self._defs

    @property
    def uses(self) -> frozenset[Register]:
        """Registers read, the guard and hidden operands included."""
        if self._uses is None:
            found = self._registers(self._span(slot) for slot in self.shape.slots if slot.uses)
            self._uses = found.union(self.hidden)
            if self.shape.group is not None and not self.shape.group.defines:
                self._uses = self._uses.union(self.group)
        return self._uses

    @property
    def group(self) -> tuple[Register, ...]:
        """Registers behind ``PR`` or ``UPR``, which are among the definitions or uses; else none."""
        return () if self.shape.group is None else self.shape.group.registers(self.numbers)

    @staticmethod
    def _registers(spans: Iterable[tuple[Register, ...]]) -> frozenset[Register]:
        return frozenset(r for found in spans for r in found)

    def _span(self, slot: RegisterSlot) -> tuple[Register, ...]:
        return span(slot.file, int(self.numbers[slot.position]), slot.written(self.numbers))
