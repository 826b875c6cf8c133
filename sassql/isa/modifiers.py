"""Modifiers that were seen with an opcode, from `data/modifiers.tsv`: for remarks about misspelt ones."""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def _table() -> dict[str, frozenset[str]]:
    text = resources.files("sassql.isa").joinpath("data/modifiers.tsv").read_text("utf-8")
    rows = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")][1:]
    return {opcode: frozenset(modifiers.split()) for opcode, modifiers in rows}


def seen(opcode: str) -> frozenset[str]:
    """Modifiers seen with ``opcode``, none where the opcode itself was never seen.

    >>> "BFLY" in seen("SHFL")
    True
    """
    return _table().get(opcode, frozenset())
