"""Integer comparisons, from `data/compares.tsv`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from sassql.isa.copying import literal
from sassql.isa.lines import table_lines
from sassql.model.form import Form
from sassql.model.operands import RegisterOperand

OPERATORS = {"LT": "<", "LE": "<=", "GT": ">", "GE": ">=", "EQ": "==", "NE": "!="}
NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table."""

    unsigned: frozenset[str]
    wide: frozenset[str]
    high: str
    low: str
    combine: frozenset[str]


@dataclass(frozen=True, slots=True)
class Compare:
    """``left operator right``, operands by index.

    ``low`` is the operand with the predicate of the low half, or -1. ``alone`` is false
    where another predicate, operand ``joined``, is joined to the result: ``how`` is AND, OR or XOR.
    """

    operator: str
    left: int
    right: int
    is_signed: bool
    wide: bool
    low: int
    alone: bool
    joined: int = -1
    how: str = ""


@cache
def _table() -> dict[str, Row]:
    lines = table_lines("compares.tsv")
    found: dict[str, Row] = {}
    for line in lines:
        opcodes, unsigned, wide, high, low, combine = line.split("\t")
        row = Row(
            frozenset(unsigned.split(",")),
            frozenset(wide.split(",")),
            high,
            low,
            frozenset(combine.split(",")),
        )
        found.update(dict.fromkeys(opcodes.split("|"), row))
    return found


def compare_of(form: Form, result: int) -> Compare | None:
    """The comparison whose result is operand ``result`` of a form; the second result is the opposite.

    >>> from sassql.reading.shapes import SHAPES
    >>> compare_of(SHAPES.form("ISETP.GE.AND P0, PT, R0, c[0x0][0x170], PT"), 0)
    Compare(operator='>=', left=2, right=3, is_signed=True, wide=False, low=-1, alone=True, joined=-1, how='')
    """
    row = _table().get(form.opcode)
    operator = next((OPERATORS[m] for m in form.modifiers if m in OPERATORS), None)
    roles = {operand.role: place for place, operand in enumerate(form.operands)}
    if row is None or operator is None or not {"a", "b", "ci"} <= roles.keys():
        return None
    other = form.operands[roles["ci"]]
    neutral = 0 if "OR" in form.modifiers else 1 if "AND" in form.modifiers else None
    high = row.high in form.modifiers
    alone = isinstance(other, RegisterOperand) and neutral is not None and literal(other) == neutral
    how = next((m for m in form.modifiers if m in row.combine), "")
    return Compare(
        operator=NEGATED[operator] if form.operands[result].role == "q" else operator,
        left=roles["a"],
        right=roles["b"],
        is_signed=not row.unsigned & set(form.modifiers),
        wide=high or bool(row.wide & set(form.modifiers)),
        low=roles.get(row.low, -1) if high else -1,
        alone=alone,
        joined=-1 if alone else roles["ci"],
        how="" if alone else how,
    )
