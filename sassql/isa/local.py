"""Which instructions touch local memory, from `data/local.tsv`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cache

from sassql.isa.lines import table_lines
from sassql.model.form import Form


class LocalKind(Enum):
    """What an instruction does to local memory; the words of the table."""

    LOAD = "load"
    STORE = "store"
    ALIAS = "alias"


@dataclass(frozen=True, slots=True)
class LocalAccess:
    """A row of the table. ``whole``: in words of 32 bits, not in parts of one."""

    kind: LocalKind
    whole: bool


@cache
def _table() -> dict[str, dict[str, LocalAccess]]:
    lines = table_lines("local.tsv")
    rows: dict[str, dict[str, LocalAccess]] = {}
    for line in lines:
        opcode, modifier, kind, size = line.split("\t")
        rows.setdefault(opcode, {})[modifier] = LocalAccess(LocalKind(kind), size == "words")
    return rows


def local_access(form: Form) -> LocalAccess | None:
    """What a form does to local memory; None for nothing.

    >>> from sassql.reading.shapes import SHAPES
    >>> local_access(SHAPES.form("STL.U8 [R1+0x4], R0"))
    LocalAccess(kind=<LocalKind.STORE: 'store'>, whole=False)
    """
    rows = _table().get(form.opcode)
    if rows is None:
        return None
    return next((rows[m] for m in form.modifiers if m in rows), rows[""])
