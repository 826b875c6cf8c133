"""Semantic classes and commuting sources, from `data/classes.tsv` and `data/commutes.tsv`.

    classify("IMAD", ("IADD",), operands)  ->  the operation `add` on two of the operands

A *reading* is an instruction seen as an operation: the operands that take part, in semantic
order, once per order that means the same. Forms of several instructions are not known here.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from sassql.isa.lines import table_lines
from sassql.model.operands import ImmediateOperand, Operand, RegisterOperand

Order = tuple[int, ...]
"""Operand indices in semantic order."""

SEMANTIC_ROLES = ("d", "a", "b", "c")
"""Roles that a pattern may name on a line with an operation class, by place."""


@dataclass(frozen=True, slots=True)
class Condition:
    """``ci=!PT``, ``b=1``, ``b2=none``, ``a!=0``."""

    role: str
    value: str
    equal: bool

    def holds(self, operands: Sequence[Operand]) -> bool:
        operand = next((o for o in operands if o.role == self.role), None)
        if self.value == "none":
            return (operand is None) == self.equal
        return operand is not None and _has_value(operand, self.value) == self.equal


@dataclass(frozen=True, slots=True)
class Row:
    """A row of either table; ``roles`` are groups, those of more than one role commute."""

    name: str
    present: frozenset[str]
    absent: frozenset[str]
    conditions: tuple[Condition, ...]
    roles: tuple[tuple[str, ...], ...]

    def fits(self, modifiers: Sequence[str], operands: Sequence[Operand]) -> bool:
        return (
            self.present.issubset(modifiers)
            and self.absent.isdisjoint(modifiers)
            and all(condition.holds(operands) for condition in self.conditions)
        )

    @property
    def is_operation(self) -> bool:
        return bool(self.roles)


@dataclass(frozen=True, slots=True)
class Reading:
    """An instruction as an operation; the first of ``orders`` is the order as printed."""

    operation: str
    orders: tuple[Order, ...]


def as_single(value: float) -> float:
    """``value`` rounded to what a 32-bit register can hold; listings print more digits."""
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return value
    return rounded


def same_number(left: float, right: float) -> bool:
    """Equality of two printed numbers, floats as 32-bit floats."""
    return left == right or as_single(left) == as_single(right)


def _has_value(operand: Operand, wanted: str) -> bool:
    if wanted in ("PT", "!PT"):
        is_true = isinstance(operand, RegisterOperand) and operand.is_zero and operand.file in ("P", "UP")
        return is_true and operand.inverted == (wanted == "!PT")
    number = float(int(wanted, 16)) if wanted.startswith("0x") else float(wanted)
    match operand:
        case RegisterOperand(file="R" | "UR", index=None):
            return number == 0
        case ImmediateOperand(value=value):
            return same_number(value, number)
    return False


def _conditions(text: str) -> tuple[Condition, ...]:
    found = []
    for item in () if text == "-" else text.split():
        role, different, value = item.partition("!=") if "!=" in item else item.partition("=")
        found.append(Condition(role, value, different != "!="))
    return tuple(found)


def _groups(text: str) -> tuple[tuple[str, ...], ...]:
    """``d (a b) c`` as ``(("d",), ("a", "b"), ("c",))``."""
    groups: list[tuple[str, ...]] = []
    for piece in text.replace("(", "|(").replace(")", "|").split("|"):
        if piece.startswith("("):
            groups.append(tuple(piece[1:].split()))
        else:
            groups += [(role,) for role in piece.split()]
    return tuple(groups)


def _rows(file: str) -> list[list[str]]:
    return [line.split("\t") for line in table_lines(file)]


def _row(name: str, modifiers: str, when: str, groups: tuple[tuple[str, ...], ...]) -> Row:
    listed = [] if modifiers == "-" else modifiers.split(",")
    return Row(
        name,
        frozenset(m for m in listed if not m.startswith("!")),
        frozenset(m[1:] for m in listed if m.startswith("!")),
        _conditions(when),
        groups,
    )


@cache
def _classes() -> dict[str, tuple[Row, ...]]:
    """Rows of `classes.tsv` by opcode, in the order of the file."""
    found: dict[str, list[Row]] = {}
    for name, opcodes, modifiers, when, operands in _rows("classes.tsv"):
        row = _row(name, modifiers, when, () if operands == "-" else _groups(operands))
        for opcode in opcodes.split("|"):
            if opcode.startswith("<"):
                _include(found, opcode[1:-1], name)
            else:
                found.setdefault(opcode, []).append(row)
    return {opcode: tuple(rows) for opcode, rows in found.items()}


def _include(found: dict[str, list[Row]], part: str, whole: str) -> None:
    """Put everything that belongs to class ``part`` into class ``whole``, as a set."""
    for rows in found.values():
        rows += [replace(row, name=whole, roles=()) for row in rows if row.name == part]


@cache
def _commuting() -> dict[str, tuple[Row, ...]]:
    return rows_by_opcode("commutes.tsv")


def rows_by_opcode(file: str) -> dict[str, tuple[Row, ...]]:
    """A table with the columns opcode, modifiers, when and roles, by opcode."""
    found: dict[str, list[Row]] = {}
    for opcodes, modifiers, when, roles in _rows(file):
        row = _row("", modifiers, when, (tuple(roles.split()),))
        for opcode in opcodes.split("|"):
            found.setdefault(opcode, []).append(row)
    return {opcode: tuple(rows) for opcode, rows in found.items()}


@cache
def names() -> frozenset[str]:
    """Every class of the table."""
    return frozenset(row.name for rows in _classes().values() for row in rows)


@cache
def operations() -> frozenset[str]:
    """The classes that are operations: those with operands in semantic order."""
    return frozenset(row.name for rows in _classes().values() for row in rows if row.is_operation)


@cache
def opcodes(name: str) -> frozenset[str]:
    """Opcodes that can belong to class ``name``: for a first, cheap test."""
    return frozenset(opcode for opcode, rows in _classes().items() if any(row.name == name for row in rows))


def operation(opcode: str, modifiers: Sequence[str], operands: Sequence[Operand]) -> str:
    """The operation that an instruction performs (``add``, ``max`` …), or an empty string."""
    for row in _classes().get(opcode, ()):
        if row.is_operation and row.fits(modifiers, operands):
            return row.name
    return ""


def belongs(name: str, opcode: str, modifiers: Sequence[str], operands: Sequence[Operand]) -> bool:
    """True where the instruction is in class ``name``, as a set or as an operation."""
    return any(row.name == name and row.fits(modifiers, operands) for row in _classes().get(opcode, ()))


def read(name: str, opcode: str, modifiers: Sequence[str], operands: Sequence[Operand]) -> Reading | None:
    """The instruction as operation ``name``, or None where it is none or ``name`` is a set."""
    for row in _classes().get(opcode, ()):
        if row.name == name and row.is_operation and row.fits(modifiers, operands):
            orders = _semantic_orders(row.roles, operands)
            if orders:
                return Reading(name, orders)
    return None


def _semantic_orders(groups: tuple[tuple[str, ...], ...], operands: Sequence[Operand]) -> tuple[Order, ...]:
    places = {operand.role: index for index, operand in reversed(list(enumerate(operands)))}
    if any(role not in places for group in groups for role in group):
        return ()
    indices = [tuple(places[role] for role in group) for group in groups]
    shuffled = itertools.product(*(itertools.permutations(group) for group in indices))
    return tuple(tuple(itertools.chain.from_iterable(order)) for order in shuffled)


def orders(opcode: str, modifiers: Sequence[str], operands: Sequence[Operand]) -> tuple[Order, ...]:
    """Every order of all operands that means the same, the printed one first."""
    printed = tuple(range(len(operands)))
    for row in _commuting().get(opcode, ()):
        if row.fits(modifiers, operands):
            return _reordered(printed, row.roles[0], operands)
    return (printed,)


def _reordered(printed: Order, roles: tuple[str, ...], operands: Sequence[Operand]) -> tuple[Order, ...]:
    by_table = roles == ("lut",)
    wanted = ("a", "b", "c") if by_table else roles
    places = [i for i, operand in enumerate(operands) if operand.role in wanted]
    table = next((o.value for o in operands if o.role == "lut" and isinstance(o, ImmediateOperand)), None)
    if len(places) != len(wanted) or (by_table and not isinstance(table, int)):
        return (printed,)
    found = []
    for permuted in itertools.permutations(range(len(places))):
        if by_table and not keeps_table(int(table or 0), permuted):
            continue
        order = list(printed)
        for place, source in zip(places, permuted, strict=True):
            order[place] = places[source]
        found.append(tuple(order))
    return tuple(found)


def keeps_table(table: int, permuted: tuple[int, ...]) -> bool:
    """True where the lookup table of a, b, c does not change when the sources are permuted.

    >>> keeps_table(0xC0, (1, 0, 2)), keeps_table(0xC0, (2, 1, 0))
    (True, False)
    """
    for entry in range(8):
        bits = (entry >> 2 & 1, entry >> 1 & 1, entry & 1)
        moved = tuple(bits[i] for i in permuted)
        if table >> entry & 1 != table >> (moved[0] << 2 | moved[1] << 1 | moved[2]) & 1:
            return False
    return True
