"""Modifiers that were seen with an opcode, from `data/modifiers.tsv`: for remarks about misspelt ones."""

from __future__ import annotations

from functools import cache

from sassql.isa.lines import table_lines


@cache
def _table() -> dict[str, frozenset[str]]:
    rows = [line.split("\t") for line in table_lines("modifiers.tsv")]
    return {opcode: frozenset(modifiers.split()) for opcode, modifiers in rows}


def seen(opcode: str) -> frozenset[str]:
    """Modifiers seen with ``opcode``, none where the opcode itself was never seen.

    >>> "BFLY" in seen("SHFL")
    True
    """
    return _table().get(opcode, frozenset())
