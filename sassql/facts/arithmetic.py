"""The rules of `sassql/isa/data/linear.tsv`: results of integer instructions from their words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sassql.facts import functions
from sassql.facts.functions import function
from sassql.facts.polynomials import ZERO, Polynomial

Words = Sequence[Polynomial]


def _table(words: Words) -> Polynomial:
    table = words[3].value
    return functions.truth_table(words[:3], table) if table is not None else function("lop3.v", words)


def _high_part(words: Words) -> Polynomial:
    """LEA.HI: the bits of c:a that a shift to the left pushes over the top, plus b."""
    low, add, high, shift = words
    by = shift.value
    if by is None or not 0 < by < 32 or high.value is None:
        return function("lea_hi", words)
    return functions.quotient(low, 1 << (32 - by)) + high.times(1 << by) + add


def _high_part_signed(words: Words) -> Polynomial:
    low, add, shift = words
    by = shift.value
    if by is None or not 0 < by < 32:
        return function("lea_hi_signed", words)
    return functions.shift_right_signed(low, Polynomial.number(32 - by)) + add


def _shifted(word: Polynomial, shift: Polynomial, add: Polynomial = ZERO) -> Polynomial:
    by = shift.value
    return (functions.shift_left(word, shift) if by is None else word.times(1 << (by & 31))) + add


RULES: dict[str, Callable[[Words], Polynomial]] = {
    "add": lambda words: sum(words, ZERO),
    "multiply_add": lambda words: functions.multiply(words[0], words[1]) + words[2],
    "multiply": lambda words: functions.multiply(words[0], words[1]),
    "multiply_high": lambda words: functions.multiply_high(words[0], words[1], is_signed=True),
    "multiply_high_unsigned": lambda words: functions.multiply_high(words[0], words[1], is_signed=False),
    "shift_left_add": lambda words: _shifted(words[0], words[2], words[1]),
    "high_part_add": _high_part,
    "high_part_add_signed": _high_part_signed,
    "shift_left": lambda words: functions.shift_left(words[0], words[1]),
    "shift_right": lambda words: functions.shift_right(words[0], words[1]),
    "shift_right_signed": lambda words: functions.shift_right_signed(words[0], words[1]),
    "truth_table": _table,
}
"""By name; each takes the operands that its row lists, in that order."""
