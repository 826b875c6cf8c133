"""How integer results follow from operands, from `data/linear.tsv`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from sassql.isa.copying import literal
from sassql.isa.lines import table_lines
from sassql.model.form import Form


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table."""

    requires: frozenset[str]
    forbids: frozenset[str]
    unit: int
    when: tuple[tuple[str, int], ...]
    rule: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Linear:
    """The rule for one 32-bit register of a result, and the operands that it takes."""

    rule: str
    sources: tuple[int, ...]


@cache
def table() -> dict[str, tuple[Row, ...]]:
    """Rows by opcode, in the order of the file."""
    lines = table_lines("linear.tsv")
    rows: dict[str, list[Row]] = {}
    for line in lines:
        opcodes, requires, forbids, unit, when, rule, sources = line.split("\t")
        taken = tuple(filter(None, sources.split(",")))
        row = Row(_words(requires), _words(forbids), int(unit), _conditions(when), rule, taken)
        for opcode in opcodes.split("|"):
            rows.setdefault(opcode, []).append(row)
    return {opcode: tuple(found) for opcode, found in rows.items()}


def _words(text: str) -> frozenset[str]:
    return frozenset(filter(None, text.split(",")))


def _conditions(text: str) -> tuple[tuple[str, int], ...]:
    items = [] if text == "-" else [item.partition("=") for item in text.split(",")]
    return tuple((role, int(value, 0)) for role, _, value in items)


def linear_of(form: Form, unit: int) -> Linear | None:
    """How register ``unit`` of operand `d` follows from the others; None where the table does not say.

    >>> from sassql.reading.shapes import SHAPES
    >>> linear_of(SHAPES.form("LEA R2, P1, R4, c[0x0][0x168], 0x2"), 0)
    Linear(rule='shift_left_add', sources=(2, 3, 4))
    """
    modifiers = set(form.modifiers)
    roles = {operand.role: place for place, operand in enumerate(form.operands)}
    for row in table().get(form.opcode, ()):
        fits = row.unit == unit and row.requires <= modifiers and not row.forbids & modifiers
        if not fits or not all(_holds(form, roles, role, value) for role, value in row.when):
            continue
        if all(role in roles for role in row.sources):
            return Linear(row.rule, tuple(roles[role] for role in row.sources))
    return None


def _holds(form: Form, roles: dict[str, int], role: str, value: int) -> bool:
    return role in roles and literal(form.operands[roles[role]]) == value
