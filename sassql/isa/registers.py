"""Registers that no operand names: predicates behind ``PR``, and what a callee may write."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources

from sassql.model.form import Form
from sassql.model.operands import ImmediateOperand
from sassql.model.register import Register, register

_PREDICATES = 7


@dataclass(frozen=True, slots=True)
class Implied:
    """Registers of one operand that stands for several: ``PR`` with its mask."""

    operand: int
    defines: bool
    registers: tuple[Register, ...]


def _lines(name: str) -> list[list[str]]:
    text = resources.files("sassql.isa").joinpath(f"data/{name}").read_text("utf-8")
    return [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")][1:]


@cache
def _implied_table() -> dict[str, tuple[str, str, str, str]]:
    return {row[0]: (row[1], row[2], row[3], row[4]) for row in _lines("implied.tsv")}


def implied(form: Form) -> Implied | None:
    """The registers behind ``PR`` or ``UPR``; None for an instruction without one.

    All predicates are taken where the mask is not a number.

    >>> from sassql.reading.shapes import SHAPES
    >>> [str(r) for r in implied(SHAPES.form("R2P PR, R0, 0x6")).registers]
    ['P1', 'P2']
    """
    row = _implied_table().get(form.opcode)
    if row is None:
        return None
    access, file, place, mask_role = row
    mask = (1 << _PREDICATES) - 1
    for operand in form.operands:
        if isinstance(operand, ImmediateOperand) and operand.role == mask_role:
            mask &= int(operand.value)
    found = tuple(register(file, i) for i in range(_PREDICATES) if mask >> i & 1)
    number = next((i for i, o in enumerate(form.operands) if o.role == place), -1)
    return Implied(number, access == "def", found)


@cache
def clobbered_by_calls() -> frozenset[Register]:
    """Registers that a function outside of the section may write, from `data/abi.tsv`."""
    found = set()
    for file, *numbers in _lines("abi.tsv"):
        first, last, every, take = map(int, numbers)
        found |= {register(file, i) for i in range(first, last + 1) if (i - first) % every < take}
    return frozenset(found)
