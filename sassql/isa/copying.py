"""Instructions that copy an operand, from `data/copies.tsv`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from sassql.isa.lines import table_lines
from sassql.model.form import Form
from sassql.model.operands import ImmediateOperand, Operand, RegisterOperand

_ABSENT = "absent"
_LUT = "lut:"
_PREDICATES = ("P", "UP")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table. ``source`` is one role, or the three sources and the table of a LUT."""

    requires: frozenset[str]
    forbids: frozenset[str]
    source: tuple[str, ...]
    when: tuple[tuple[str, int | None], ...]


@dataclass(frozen=True, slots=True)
class Copy:
    """Operand ``source`` goes to operand ``destination``, register by register."""

    destination: int
    source: int


@cache
def table() -> dict[str, tuple[Row, ...]]:
    """Rows by opcode, in the order of the file."""
    lines = table_lines("copies.tsv")
    rows: dict[str, list[Row]] = {}
    for line in lines:
        opcodes, requires, forbids, source, when = line.split("\t")
        row = Row(
            frozenset(filter(None, requires.split(","))),
            frozenset(filter(None, forbids.split(","))),
            tuple(source.removeprefix(_LUT).split(",")),
            tuple(_condition(item) for item in filter(None, when.split(","))),
        )
        for opcode in opcodes.split("|"):
            rows.setdefault(opcode, []).append(row)
    return {opcode: tuple(found) for opcode, found in rows.items()}


def _condition(item: str) -> tuple[str, int | None]:
    role, _, value = item.partition("=")
    return role, None if value == _ABSENT else int(value, 0)


def literal(operand: Operand, width: int = 1) -> int | None:
    """The number that an operand is by its text, as a bit pattern of ``width`` registers; else None.

    >>> from sassql.reading.shapes import SHAPES
    >>> [literal(o) for o in SHAPES.form("IADD3 R1, RZ, -0x2, R4").operands]
    [None, 0, 4294967294, None]
    """
    if isinstance(operand, ImmediateOperand) and isinstance(operand.value, int):
        return operand.value & ((1 << 32 * width) - 1)
    if isinstance(operand, RegisterOperand) and operand.is_zero:
        if operand.file in _PREDICATES:
            return int(not operand.inverted)
        return (1 << 32 * width) - 1 if operand.inverted else 0
    return None


def is_plain(operand: Operand) -> bool:
    """True for a register operand that is read as it is: no sign, no ``~``, no selector."""
    return (
        isinstance(operand, RegisterOperand)
        and not operand.is_zero
        and not (operand.negated or operand.absolute or operand.inverted or operand.suffixes)
    )


def copy_of(form: Form) -> Copy | None:
    """The operands that a form copies from and to; the source is a plain register or a number.

    >>> from sassql.reading.shapes import SHAPES
    >>> copy_of(SHAPES.form("IMAD.MOV.U32 R4, RZ, RZ, R9"))
    Copy(destination=0, source=3)
    """
    rows = table().get(form.opcode)
    if rows is None:
        return None
    modifiers = set(form.modifiers)
    roles = {operand.role: place for place, operand in enumerate(form.operands)}
    for row in rows:
        if row.requires <= modifiers and not row.forbids & modifiers and _holds(row, form, roles):
            source = _passed_through(row, form, roles) if len(row.source) > 1 else roles.get(row.source[0])
            if source is not None and "d" in roles and _fits(form, roles["d"], source):
                return Copy(roles["d"], source)
    return None


def _holds(row: Row, form: Form, roles: dict[str, int]) -> bool:
    for role, value in row.when:
        if value is None:
            if role in roles:
                return False
        elif role not in roles or literal(form.operands[roles[role]]) != value:
            return False
    return True


def _fits(form: Form, destination: int, source: int) -> bool:
    into, found = form.operands[destination], form.operands[source]
    if not isinstance(into, RegisterOperand) or into.is_zero:
        return False
    if literal(found, into.width or 1) is not None:
        return True
    return is_plain(found) and found.width == into.width


def _passed_through(row: Row, form: Form, roles: dict[str, int]) -> int | None:
    """The source that a truth table hands on, whatever the unknown others are."""
    *names, table_name = row.source
    if not all(name in roles for name in row.source):
        return None
    places = [roles[name] for name in names]
    truth = literal(form.operands[roles[table_name]])
    known = [_bit(form.operands[place]) for place in places]
    if truth is None:
        return None
    for chosen, place in enumerate(places):
        if known[chosen] is None and is_plain(form.operands[place]) and _is_identity(truth, known, chosen):
            return place
    return None


def _bit(operand: Operand) -> int | None:
    """0 or 1 where all bits of an operand are known to be that."""
    value = literal(operand)
    ones = 1 if isinstance(operand, RegisterOperand) and operand.file in _PREDICATES else 0xFFFFFFFF
    return {0: 0, ones: 1}.get(value) if value is not None else None


def _is_identity(truth: int, known: Sequence[int | None], chosen: int) -> bool:
    choices = itertools.product(*((0, 1) if bit is None else (bit,) for bit in known))
    return all((truth >> (4 * a + 2 * b + c) & 1) == (a, b, c)[chosen] for a, b, c in choices)
