"""Opcodes, operands and guards of a line."""

from __future__ import annotations

from dataclasses import dataclass

from sassql.lang.ast.names import Name, Position


@dataclass(frozen=True, slots=True)
class Modifier:
    """``.128`` (one choice), ``.{BFLY|DOWN}`` (several), ``.!CONSTANT`` (must be absent)."""

    choices: tuple[str, ...]
    absent: bool
    at: Position


@dataclass(frozen=True, slots=True)
class Opcode:
    """A written opcode with modifiers; ``*`` in the name stands for any letters and digits."""

    name: str
    modifiers: tuple[Modifier, ...]
    at: Position


@dataclass(frozen=True, slots=True)
class ClassUse:
    """``<max>``, with modifiers that the instruction must have besides."""

    name: str
    modifiers: tuple[Modifier, ...]
    at: Position


Opset = tuple[Opcode | ClassUse, ...]


@dataclass(frozen=True, slots=True)
class ValueOperand:
    """``%x`` or ``%x.H0_H0``: a selector that takes a part of the register must be written."""

    name: Name
    suffixes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IntegerOperand:
    """``#n``."""

    name: Name


@dataclass(frozen=True, slots=True)
class NumberOperand:
    """``0x10``, ``1.5``, ``INF``."""

    value: int | float


@dataclass(frozen=True, slots=True)
class RegisterName:
    """``R4``, ``RZ``, ``PT``: exactly this register."""

    file: str
    index: int | None


@dataclass(frozen=True, slots=True)
class Word:
    """``SR_TID.X``, ``SB0``: exactly this word."""

    text: str


@dataclass(frozen=True, slots=True)
class ConstantBank:
    """``c[0x0][0x160]``: exactly this place in a constant bank."""

    bank: int
    offset: int


@dataclass(frozen=True, slots=True)
class Brackets:
    """``[&A]``, ``[%a+0x8]``, ``desc[_][%a]``, ``gdesc[UR4]``; ``anything`` is ``[_]``."""

    space: str
    terms: tuple[Name | RegisterName, ...]
    offset: int
    anything: bool


@dataclass(frozen=True, slots=True)
class Anything:
    """``_``."""


@dataclass(frozen=True, slots=True)
class OtherOperand:
    """An operand form of listings that patterns do not use: labels, relocations, sets."""

    text: str


Core = (
    ValueOperand
    | IntegerOperand
    | NumberOperand
    | RegisterName
    | Word
    | ConstantBank
    | Brackets
    | Anything
    | OtherOperand
)


@dataclass(frozen=True, slots=True)
class OperandPattern:
    """One operand of a line; ``role`` is empty for an operand that is matched by its position."""

    role: str
    negated: bool
    absolute: bool
    inverted: bool
    core: Core
    at: Position


@dataclass(frozen=True, slots=True)
class GuardPattern:
    """``@%p``, ``@!%p``, ``@P0``; ``@PT`` asks for an instruction without a guard."""

    inverted: bool
    predicate: Name | RegisterName
    at: Position
