"""One form for operations that can be written in several ways; used by "meanings".

Only rewrites that hold bit by bit: integers have no rounding, and a float is never
rearranged, only its sign moves (x + (-y) is x - y).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sassql.facts.terms import Term

NORMALISED = frozenset(("mul", "mad", "shift_add", "add", "select"))
"""The operations that :func:`normal` may change; all others are in their usual form."""
_INTEGER_SUMS = ("i32", "i64")


@dataclass(slots=True, unsafe_hash=True)  # frozen ones take three times as long to make
class Parts:
    """An operation before it is bound to its values."""

    operation: str
    operands: tuple[Term, ...]
    commuting: int
    type: str


def normal(parts: Parts) -> Parts:
    """The operation in its usual form.

    * an integer sum drops zeros; of one operand it is ``copy`` or ``neg``, its product with
      a power of two is ``shift_left`` or ``shift_add`` (a << shift) + b;
    * ``add`` of one negated operand is ``sub`` (minuend, subtrahend);
    * ``select`` asks the plain predicate: ``!p`` swaps the arms.
    """
    if parts.operation in ("mul", "mad") and parts.type == "i32":
        parts = _scaled(parts)
    if parts.operation == "shift_add":
        parts = _shifted(parts)
    if parts.operation == "add":
        parts = _summed(parts)
    if parts.operation == "select":
        condition, yes, no = parts.operands
        if condition.inverted:
            return replace(parts, operands=(replace(condition, inverted=False), no, yes))
    return parts


def _scaled(parts: Parts) -> Parts:
    factors, rest = parts.operands[:2], parts.operands[2:]
    for place, factor in enumerate(factors):
        number = factor.number
        other = factors[1 - place]
        if number is None or number <= 0 or number & (number - 1) or other.signed:
            continue
        shift = Term(number=number.bit_length() - 1)
        if not rest:
            return Parts("shift_left", (other, shift), 0, "b32")
        return Parts("shift_add", (other, shift, rest[0]), 0, parts.type)
    return parts


def _shifted(parts: Parts) -> Parts:
    a, shift, b = parts.operands
    if shift.number == 0:
        return Parts("add", (a, b), 2, parts.type)
    if b.number == 0 and not a.signed:
        return Parts("shift_left", (a, shift), 0, "b32")
    return parts


def _summed(parts: Parts) -> Parts:
    operands = parts.operands
    if parts.type in _INTEGER_SUMS:
        operands = tuple(term for term in operands if term.number != 0)
        if not operands:
            return Parts("copy", (Term(number=0),), 0, parts.type)
        if len(operands) == 1:
            (only,) = operands
            if only.negated:
                return Parts("neg", (replace(only, negated=False),), 0, parts.type)
            return Parts("copy", operands, 0, parts.type)
    if len(operands) == 2:
        negated = [term.negated for term in operands]
        if negated[0] != negated[1]:
            plus, minus = operands if negated[1] else operands[::-1]
            return Parts("sub", (plus, replace(minus, negated=False)), 0, parts.type)
    return Parts("add", operands, len(operands), parts.type)
