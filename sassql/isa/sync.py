"""Instructions that order memory accesses, from `data/sync.tsv`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from sassql.isa.lines import table_lines
from sassql.model.form import Form

ORDERS = ("barrier", "mbarrier", "fence", "async", "warp")
"""The words of the table, the strongest first."""


@dataclass(frozen=True, slots=True)
class _Row:
    present: frozenset[str]
    absent: frozenset[str]
    order: str


@cache
def _table() -> dict[str, tuple[_Row, ...]]:
    lines = table_lines("sync.tsv")
    found: dict[str, list[_Row]] = {}
    for line in lines:
        opcodes, modifiers, order = line.split("\t")
        listed = () if modifiers == "-" else modifiers.split(",")
        present = frozenset(m for m in listed if not m.startswith("!"))
        absent = frozenset(m[1:] for m in listed if m.startswith("!"))
        for opcode in opcodes.split("|"):
            found.setdefault(opcode, []).append(_Row(present, absent, order))
    return {opcode: tuple(rows) for opcode, rows in found.items()}


def order_of(form: Form) -> str:
    """What a form puts in order (a word of :data:`ORDERS`), or an empty string.

    >>> from sassql.reading.shapes import SHAPES
    >>> order_of(SHAPES.form("BAR.SYNC.DEFER_BLOCKING 0x0")), order_of(SHAPES.form("BAR.ARV 0x1, 0x40"))
    ('barrier', '')
    """
    modifiers = frozenset(form.modifiers)
    for row in _table().get(form.opcode, ()):
        if row.present <= modifiers and not row.absent & modifiers:
            return row.order
    return ""
