"""Which instructions name a place in code, from `data/targets.tsv`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from sassql.isa.lines import table_lines


@cache
def _table() -> dict[str, tuple[tuple[frozenset[str], str], ...]]:
    lines = table_lines("targets.tsv")
    rows: dict[str, list[tuple[frozenset[str], str]]] = {}
    for line in lines:
        opcode, requires, kind = line.split("\t")
        rows.setdefault(opcode, []).append((frozenset(filter(None, requires.split(","))), kind))
    return {opcode: tuple(found) for opcode, found in rows.items()}


def target_kind(opcode: str, modifiers: Sequence[str]) -> str:
    """``relative``, ``absolute``, or an empty string where no operand is a place in code."""
    return next((kind for needs, kind in _table().get(opcode, ()) if needs <= set(modifiers)), "")


def opcodes() -> frozenset[str]:
    """Opcodes that can name a place in code."""
    return frozenset(_table())
