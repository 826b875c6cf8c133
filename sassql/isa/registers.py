"""Registers that no operand names: predicates behind ``PR``, and what a callee may write."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from sassql.isa.lines import table_lines
from sassql.model.form import MaskedGroup
from sassql.model.register import Register, register

_PREDICATES = 7
"""P0 to P6 and UP0 to UP6; the eighth of a file is always true."""


def _lines(name: str) -> list[list[str]]:
    return [line.split("\t") for line in table_lines(name)]


@cache
def _implied_table() -> dict[str, tuple[str, str, str]]:
    return {row[0]: (row[1], row[2], row[3]) for row in _lines("implied.tsv")}


def group_of(opcode: str, roles: Sequence[str], mask_position: int) -> MaskedGroup | None:
    """What ``PR`` or ``UPR`` stands for, from `data/implied.tsv`; None for an instruction without one.

    ``roles`` are those of its operands, ``mask_position`` is the place of its mask among the numbers.

    >>> from sassql.reading.shapes import SHAPES
    >>> [str(r) for r in SHAPES.form("R2P PR, R0, 0x6").group]
    ['P1', 'P2']
    """
    row = _implied_table().get(opcode)
    if row is None:
        return None
    access, file, place = row
    return MaskedGroup(roles.index(place), file, _PREDICATES, mask_position, access == "def")


@cache
def clobbered_by_calls() -> frozenset[Register]:
    """Registers that a function outside of the section may write, from `data/abi.tsv`."""
    found = set()
    for file, *numbers in _lines("abi.tsv"):
        first, last, every, take = map(int, numbers)
        found |= {register(file, i) for i in range(first, last + 1) if (i - first) % every < take}
    return frozenset(found)
