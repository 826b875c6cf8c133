"""Typed operands: what each operand of an instruction is, with its role and width.

An operand knows its text, its role (``d``, ``a``, ``addr`` …, see
``sassql/isa/data/signatures.tsv``), whether the instruction reads or writes it, and how
many 32-bit registers it spans. ``width`` is ``None`` where the tables do not say.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sassql.model.register import Register, span


class Access(Enum):
    """What an instruction does with an operand's own registers."""

    NONE = "none"
    USE = "use"
    DEF = "def"
    BOTH = "both"

    @property
    def defines(self) -> bool:
        return self in (Access.DEF, Access.BOTH)

    @property
    def uses(self) -> bool:
        return self in (Access.USE, Access.BOTH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """What all operands share."""

    text: str
    role: str = ""
    access: Access = Access.USE
    width: int | None = None
    negated: bool = False
    absolute: bool = False
    inverted: bool = False
    """``~`` on a register, ``!`` on a predicate."""
    suffixes: tuple[str, ...] = ()
    """Selectors such as ``H0_H0`` or ``64``, without the dot; ``reuse`` is not among them."""
    reuse: bool = False

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterOperand(Operand):
    """``R4``, ``-UR5.reuse``, ``!P0``, ``RZ`` (index ``None``)."""

    file: str
    index: int | None

    @property
    def is_zero(self) -> bool:
        """True for RZ, URZ, PT and UPT."""
        return self.index is None

    @property
    def registers(self) -> tuple[Register, ...]:
        """Every register of the operand; one where the width is unknown."""
        if self.index is None:
            return ()
        return span(self.file, self.index, self.width or 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImmediateOperand(Operand):
    """A number, sign included. ``value`` is a float where the text is one or the opcode is floating point."""

    value: int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressTerm:
    """One register of an address: ``R2.64``, ``R0.X4``, ``UR7``."""

    register: Register | None
    file: str
    width: int | None
    scale: int = 1
    suffix: str = ""
    """``64``, ``U32`` or ``X4``, without the dot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantOperand(Operand):
    """``c[bank][offset]``, with a register in the bank or in the offset where there is one."""

    bank: int | None
    bank_register: Register | None
    base: AddressTerm | None
    offset: int
    symbol: str = ""
    """Set where the linker fills bank and offset in; ``offset`` is then only what is added."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryOperand(Operand):
    """``[R2.64+UR4+0x8]``, ``desc[UR4][R2.64]``, ``gdesc[UR8]``, ``tmem[UR4+0x40]``.

    ``prefix`` is the word before the brackets, empty for a plain address.
    """

    prefix: str
    descriptor: AddressTerm | None
    terms: tuple[AddressTerm, ...]
    offset: int
    symbol: str = ""
    """Set where the linker adds an address; ``offset`` is then only what is added to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelOperand(Operand):
    """A place in code: ``target`` is an offset in the section, else ``symbol`` names it."""

    target: int | None
    symbol: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RelocatedOperand(Operand):
    """``32@lo(symbol)``: a number that the linker fills in."""

    half: str
    symbol: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordOperand(Operand):
    """A bare word: ``SR_TID.X``, ``SB0``, ``gsb0``, ``PR``, ``2D``."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetOperand(Operand):
    """``{4,3}``: scoreboards of a DEPBAR."""

    values: tuple[int, ...]
