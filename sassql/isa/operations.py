"""What a pattern may name as a class: rows of `classes.tsv`, `meanings.tsv` and `sequences.tsv`.

Which of them may take several instructions, and which kernels can have one at all, is told
here without an analysis: by the operations of single instructions.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from sassql.isa import classes, sequences
from sassql.isa.meanings import table, templates
from sassql.model.form import Form

_WIDE = {"add": "add_carry", "sub": "add_carry", "max": "compare_extended", "min": "compare_extended"}
"""Operations on two halves, and the operation of the upper half without which there is none."""
_ALWAYS = frozenset({"phi", "call", "constant", "select", "entry"})
"""Operations that no single instruction shows: joins, guards, calls."""


@cache
def single() -> dict[str, frozenset[str]]:
    """By operation, the opcodes that can compute it alone."""
    found: dict[str, set[str]] = {}
    for opcode, rows in table().items():
        for row in rows:
            found.setdefault(row.operation, set()).add(opcode)
    return {name: frozenset(opcodes) for name, opcodes in found.items()}


@cache
def names() -> frozenset[str]:
    """Every class and operation."""
    return classes.names() | single().keys() | {row.operation for row in sequences.table()}


@cache
def only_by_meaning(name: str) -> bool:
    """True for an operation that `classes.tsv` does not have: only its meaning tells."""
    return name not in classes.names() and name in names()


@cache
def is_operation(name: str) -> bool:
    """True for what an instruction computes (add, max, fdiv), false for a set of opcodes (load, fp)."""
    return only_by_meaning(name) or name in classes.operations()


def opcodes(name: str) -> frozenset[str]:
    """Opcodes that can belong to a class or compute an operation alone."""
    return single().get(name, frozenset()) if only_by_meaning(name) else classes.opcodes(name)


def present(forms: Iterable[Form]) -> frozenset[str]:
    """Operations that single instructions of a kernel compute."""
    return frozenset(t.operation for form in forms for t in templates(form))


def possible(name: str, found: frozenset[str]) -> bool:
    """True where a kernel with these operations may have ``name`` in a form that only its meaning tells."""
    if only_by_meaning(name) and name in found:
        return True
    if _WIDE.get(name, "") in found:
        return True
    have = found | _ALWAYS
    return any(row.operation == name and row.needs <= have for row in sequences.table())
