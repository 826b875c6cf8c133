"""Results that are numbers when the operands are: the rules of `data/constants.tsv`.

Every rule is exact on bit patterns; what rounds, or depends on a mode, is not here. A rule
takes the form and the operands' values as unsigned integers, and may answer None.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from sassql.isa.lines import table_lines
from sassql.model.form import Form
from sassql.model.operands import ImmediateOperand, KeywordOperand, RegisterOperand

Rule = Callable[[Form, Sequence[int]], int | None]

_ZERO_REGISTER = "SRZ"


@dataclass(frozen=True, slots=True)
class Fold:
    """A row that fits a form: the result's operand, the rule, and the operands that it takes."""

    result: int
    rule: Rule
    sources: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table."""

    requires: frozenset[str]
    forbids: frozenset[str]
    result: str
    rule: Rule
    sources: tuple[str, ...]


@cache
def table() -> dict[str, tuple[Row, ...]]:
    """Rows by opcode, in the order of the file."""
    lines = table_lines("constants.tsv")
    rows: dict[str, list[Row]] = {}
    for line in lines:
        opcodes, requires, forbids, result, rule, sources = line.split("\t")
        taken = tuple(filter(None, sources.split(",")))
        row = Row(_words(requires), _words(forbids), result, RULES[rule], taken)
        for opcode in opcodes.split("|"):
            rows.setdefault(opcode, []).append(row)
    return {opcode: tuple(found) for opcode, found in rows.items()}


def _words(text: str) -> frozenset[str]:
    return frozenset(filter(None, text.split(",")))


def folds_of(form: Form) -> tuple[Fold, ...]:
    """How the results of a form follow from its operands: the first row that fits, per result."""
    rows = table().get(form.opcode)
    if rows is None:
        return ()
    modifiers = set(form.modifiers)
    roles = {operand.role: place for place, operand in enumerate(form.operands)}
    found: dict[int, Fold] = {}
    for row in rows:
        fits = row.requires <= modifiers and not row.forbids & modifiers
        if fits and row.result in roles and all(role in roles for role in row.sources):
            result = roles[row.result]
            found.setdefault(result, Fold(result, row.rule, tuple(roles[role] for role in row.sources)))
    return tuple(found.values())


def _signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 & 1 else value


def _zero_register(form: Form, _: Sequence[int]) -> int | None:
    """``CS2R R4, SRZ``."""
    held = any(isinstance(o, KeywordOperand) and o.name == _ZERO_REGISTER for o in form.operands)
    return 0 if held else None


def _halves(form: Form, pack: Callable[[float], int]) -> int | None:
    """``HFMA2 R4, -RZ, RZ, hi, lo``: two numbers added to a product of zeros."""
    registers = [o for o in form.operands[1:] if isinstance(o, RegisterOperand)]
    numbers = [o for o in form.operands if isinstance(o, ImmediateOperand)]
    if len(registers) != 2 or len(numbers) != 2 or not all(o.is_zero for o in registers):
        return None
    negative_zero = registers[0].negated != registers[1].negated
    found = []
    for number in numbers:
        value = float(number.value)
        if math.isnan(value):
            return None  # the text does not say which NaN
        if value == 0:  # -0 + 0 is +0
            value = -0.0 if number.text.startswith("-") and negative_zero else 0.0
        found.append(pack(value))
    return found[0] << 16 | found[1]


def _f16_halves(form: Form, _: Sequence[int]) -> int | None:
    return _halves(form, lambda value: int(struct.unpack("<H", struct.pack("<e", value))[0]))


def _bf16_halves(form: Form, _: Sequence[int]) -> int | None:
    return _halves(form, lambda value: int(struct.unpack("<I", struct.pack("<f", value))[0]) >> 16)


def _add(_: Form, values: Sequence[int]) -> int:
    return sum(values)


def _multiply_add(_: Form, values: Sequence[int]) -> int:
    return values[0] * values[1] + values[2]


def _multiply_add_signed(_: Form, values: Sequence[int]) -> int:
    return _signed(values[0]) * _signed(values[1]) + values[2]


def _shift_left_add(_: Form, values: Sequence[int]) -> int:
    return (values[0] << (values[2] & 31)) + values[1]


def _shift_left(_: Form, values: Sequence[int]) -> int:
    return values[0] << min(values[1], 32)


def _shift_right(_: Form, values: Sequence[int]) -> int:
    return values[0] >> min(values[1], 32)


def _shift_right_signed(_: Form, values: Sequence[int]) -> int:
    return _signed(values[0]) >> min(values[1], 32)


def _truth_table(_: Form, values: Sequence[int]) -> int:
    a, b, c, table_ = values
    found = 0
    for place in range(8):
        if table_ >> place & 1:
            found |= (a if place & 4 else ~a) & (b if place & 2 else ~b) & (c if place & 1 else ~c)
    return found


def _truth_table_bit(_: Form, values: Sequence[int]) -> int:
    a, b, c, table_ = values
    return table_ >> (4 * a + 2 * b + c) & 1


def _select(_: Form, values: Sequence[int]) -> int:
    return values[0] if values[2] else values[1]


def _permute(_: Form, values: Sequence[int]) -> int | None:
    """Bytes of c:a chosen by the nibbles of the selector; bit 3 of a nibble spreads the sign."""
    low, selector, high = values
    data = (high << 32 | low).to_bytes(8, "little")
    found = 0
    for place in range(4):
        nibble = selector >> 4 * place & 15
        byte = data[nibble & 7]
        found |= ((0xFF if byte >> 7 else 0) if nibble & 8 else byte) << 8 * place
    return found


RULES: dict[str, Rule] = {
    "zero_register": _zero_register,
    "f16_halves": _f16_halves,
    "bf16_halves": _bf16_halves,
    "add": _add,
    "multiply_add": _multiply_add,
    "multiply_add_signed": _multiply_add_signed,
    "shift_left_add": _shift_left_add,
    "shift_left": _shift_left,
    "shift_right": _shift_right,
    "shift_right_signed": _shift_right_signed,
    "truth_table": _truth_table,
    "truth_table_bit": _truth_table_bit,
    "select": _select,
    "permute": _permute,
}
