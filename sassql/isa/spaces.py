"""Which memory an instruction touches through which operand, from `data/spaces.tsv`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import cache

from sassql.isa.lines import table_lines
from sassql.model.form import Form

_BYTES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "96": 12, "128": 16, "256": 32}
_BYTES |= {"U64": 8, "S64": 8, "F64": 8, "F16": 2, "BF16": 2}
_PACKED = re.compile(r"(?:F16|BF16|F32)x(\d+)")
_HALF_WORDS = "F32x"
_PLAIN_WIDTH = 4


class Space(Enum):
    """A memory space; the words of the table."""

    GLOBAL = "global"
    SHARED = "shared"
    LOCAL = "local"
    CONSTANT = "constant"
    GENERIC = "generic"
    """An address that may lie in global, shared or local memory."""
    TENSOR = "tensor"
    MAP = "map"
    NONE = "none"
    """A descriptor: registers in brackets that are no address."""
    UNKNOWN = "unknown"
    """No table says."""


@dataclass(frozen=True, slots=True)
class Touch:
    """One operand that names memory: ``access`` is load, store, atomic, both or touch; ``width`` in bytes."""

    operand: int
    space: Space
    access: str
    width: int | None


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table."""

    begins: tuple[str, ...]
    role: str
    space: Space
    access: str
    width: str


@cache
def table() -> dict[str, tuple[Row, ...]]:
    """Rows by opcode, those with more leading modifiers first."""
    lines = table_lines("spaces.tsv")
    rows: dict[str, list[Row]] = {}
    for line in lines:
        opcodes, begins, role, space, access, width = line.split("\t")
        row = Row(tuple(filter(None, begins.split(","))), role, Space(space), access, width)
        for opcode in opcodes.split("|"):
            rows.setdefault(opcode, []).append(row)
    return {op: tuple(sorted(found, key=lambda r: -len(r.begins))) for op, found in rows.items()}


def touches_of(form: Form) -> tuple[Touch, ...]:
    """The operands through which a form touches memory, in the order of the table.

    >>> from sassql.reading.shapes import SHAPES
    >>> [(t.space.value, t.access, t.width) for t in touches_of(SHAPES.form("LDG.E.64 R2, [R4.64+0x8]"))]
    [('global', 'load', 8)]
    """
    found: dict[int, Touch] = {}
    for row in table().get(form.opcode, ()):
        if form.modifiers[: len(row.begins)] != row.begins:
            continue
        for place, operand in enumerate(form.operands):
            if operand.role == row.role and place not in found:
                found[place] = Touch(place, row.space, row.access, _width(form, row.width))
    return tuple(found.values())


def _width(form: Form, rule: str) -> int | None:
    if rule == "unknown":
        return None
    if rule != "data":
        return int(rule)
    for modifier in form.modifiers:
        if (packed := _PACKED.fullmatch(modifier)) is not None:
            return int(packed[1]) * (4 if modifier.startswith(_HALF_WORDS) else 2)
        if modifier in _BYTES:
            return _BYTES[modifier]
    return _PLAIN_WIDTH
