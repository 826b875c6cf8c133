"""Integers of 64 bits that are computed in two 32-bit halves.

Sums, comparisons, and selections by them:

    IADD3 R8, P0, R2, R4, RZ          IADD3.X R9, R3, R5, RZ, P0, !PT        add, i64
    ISETP.GT.U32.AND P0, …, R2, R4    ISETP.GT.AND.EX P0, …, R3, R5, PT, P0  compare, s64
    SEL R8, R2, R4, P0                SEL R9, R3, R5, P0                     max, s64
"""

from __future__ import annotations

from dataclasses import replace

from sassql.facts.operations import Meaning, Meanings
from sassql.facts.terms import Term
from sassql.facts.values import ValueKind
from sassql.isa.meanings import EXACT, ORDERED

_WIDE = {"s32": "s64", "u32": "u64"}
_GREATER, _LESS = frozenset(("GT", "GE", "GTU", "GEU")), frozenset(("LT", "LE", "LTU", "LEU"))


def wide_forms(meanings: Meanings) -> dict[int, Meaning]:
    """Every 64-bit form of a kernel, by root of each of its results."""
    found: dict[int, Meaning] = {}
    singles = _roots(meanings)
    for root, meaning in singles:
        form = None
        if meaning.operation == "add_carry":
            form = _sum(meanings, root, meaning)
        elif meaning.operation == "compare_extended":
            form = _comparison(meanings, root, meaning)
        if form is not None:
            found.update(dict.fromkeys(form.results, form))
    found.update(_selections(meanings, singles, found))
    return found


def _roots(meanings: Meanings) -> list[tuple[int, Meaning]]:
    kinds = (ValueKind.DEF, ValueKind.PSI)
    values = (v for v, kind in enumerate(meanings.ssa.kind) if kind in kinds)
    singles = ((v, meanings.single(v)) for v in values if meanings.copies.root(v) == v)
    return [(value, meaning) for value, meaning in singles if meaning is not None]


def _pair(meanings: Meanings, low: Term, high: Term) -> Term | None:
    """Two halves as one operand, where both are plain; a number above a number is a number."""
    if low.signed or high.signed:
        return None
    if low.number is not None and high.number is not None:
        return Term(number=high.number << 32 | low.number)
    if low.constant is not None and high.constant is not None:
        bank, offset = low.constant
        if high.constant == (bank, offset + 4):
            return Term(low.values + high.values if low.values and high.values else (), constant=low.constant)
    if len(low.values) == len(high.values) == 1:
        return meanings.terms.of_values((*low.values, *high.values))
    return None


def _sum(meanings: Meanings, high: int, meaning: Meaning) -> Meaning | None:
    """``add_carry`` on the carry of the low half."""
    *upper, carried = meaning.operands
    carry = meanings.single(carried.values[0]) if len(carried.values) == 1 and not carried.signed else None
    if carry is None or carry.operation != "carry" or len(carry.operands) != 2 or len(upper) != 2:
        return None
    low = next((m for m in meanings.at(carry.index) if m.operation in ("add", "sub")), None)
    if low is None or len(low.results) != 1:
        return None
    for first, second in ((upper[0], upper[1]), (upper[1], upper[0])):
        plus, minus = _addends(carry.operands, first, second)
        if plus is None:
            continue
        pairs = [_pair(meanings, a, b) for a, b in plus]
        gone = _pair(meanings, *minus) if minus is not None else None
        if any(p is None for p in pairs) or (minus is not None and gone is None):
            continue
        operands = tuple(p for p in pairs if p is not None) + (() if gone is None else (gone,))
        covers = (carry.index, meaning.index)
        name, commuting = ("add", 2) if gone is None else ("sub", 0)
        results = (low.results[0], high)
        index = max(covers)
        return Meaning(name, operands, commuting, "i64", results=results, index=index, covers=covers)
    return None


Halves = tuple[Term, Term]


def _addends(lower: tuple[Term, ...], first: Term, second: Term) -> tuple[list[Halves] | None, Halves | None]:
    """(low, high) of what is added, and of what is subtracted: ``-low`` goes with ``~high``."""
    plus: list[Halves] = []
    minus = None
    for low, high in zip(lower, (first, second), strict=True):
        if low.negated and high.inverted and minus is None:
            minus = (replace(low, negated=False), replace(high, inverted=False))
        elif not (low.signed or high.signed):
            plus.append((low, high))
        else:
            return None, None
    return plus, minus


def _comparison(meanings: Meanings, root: int, meaning: Meaning) -> Meaning | None:
    """ISETP.EX on the comparison of the low halves."""
    a, b, below = meaning.operands
    low = meanings.single(below.values[0]) if len(below.values) == 1 and not below.signed else None
    if low is None or low.operation != "compare" or len(low.operands) != 2:
        return None
    if low.detail != meaning.detail or (low.source != "u32" and low.detail not in ("EQ", "NE")):
        return None
    pairs = (_pair(meanings, low.operands[0], a), _pair(meanings, low.operands[1], b))
    if pairs[0] is None or pairs[1] is None:
        return None
    return Meaning(
        "compare",
        (pairs[0], pairs[1]),
        0,
        "pred",
        _WIDE.get(meaning.source, ""),
        meaning.detail,
        results=(root,),
        index=meaning.index,
        covers=tuple(sorted((low.index, meaning.index))),
    )


def _selections(
    meanings: Meanings, singles: list[tuple[int, Meaning]], forms: dict[int, Meaning]
) -> dict[int, Meaning]:
    """Both halves selected by one comparison of the whole: the greater or the smaller of two."""
    halves: dict[tuple[int, bool, int], tuple[int, Meaning]] = {}
    for root, meaning in singles:
        if meaning.operation != "select" or len(meaning.operands[0].values) != 1:
            continue
        condition = meaning.operands[0].values[0]
        compared = forms.get(condition) or meanings.single(condition)
        if compared is None or compared.operation != "compare" or len(compared.operands) != 2:
            continue
        for half in (0, 1):
            for swapped in (False, True):
                if _chooses(meanings, meaning, compared, half, swapped):
                    halves[condition, swapped, half] = (root, meaning)
    found: dict[int, Meaning] = {}
    for (condition, swapped, half), (low, first) in halves.items():
        if half == 1 or (condition, swapped, 1) not in halves:
            continue
        high, second = halves[condition, swapped, 1]
        compared = forms.get(condition) or meanings.single(condition)
        if compared is not None:
            form = _extreme(compared, swapped, (low, high), (first, second))
            if form is not None:
                found.update(dict.fromkeys(form.results, form))
    return found


def _chooses(meanings: Meanings, select: Meaning, compared: Meaning, half: int, swapped: bool) -> bool:
    wanted = [_half(meanings, term, half) for term in compared.operands]
    if None in wanted:
        return False
    arms = select.operands[:0:-1] if swapped else select.operands[1:]
    return all(w is not None and arm.same(w) for arm, w in zip(arms, wanted, strict=True))


def _half(meanings: Meanings, term: Term, half: int) -> Term | None:
    """The low or high word of a wide operand; None for one of 32 bits."""
    if term.signed:
        return None
    if len(term.values) == 2:
        return meanings.terms.of_values((term.values[half],))
    if term.constant is not None and not term.values:
        bank, offset = term.constant
        return Term(constant=(bank, offset + 4 * half))
    return None


def _extreme(
    compared: Meaning, swapped: bool, results: tuple[int, int], selects: tuple[Meaning, Meaning]
) -> Meaning | None:
    if compared.detail not in _GREATER | _LESS:
        return None
    name = "max" if (compared.detail in _GREATER) != swapped else "min"
    covers = sorted({*compared.covers, *(index for s in selects for index in s.covers)})
    return Meaning(
        name,
        compared.operands,
        2,
        compared.source,
        fidelity=ORDERED if compared.source == "f64" else EXACT,
        results=results,
        index=max(s.index for s in selects),
        covers=tuple(covers),
    )
