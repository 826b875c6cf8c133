"""Integer expressions with known names: the headers of `for`, where division is that of CUDA C++."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sassql.lang.ast import Binary, Expression, Literal, Name, Unary


def divide(left: int | float, right: int | float) -> int | float | None:
    """``left / right``; integers drop the fraction, toward zero. None for a division by zero."""
    if right == 0:
        return None
    if isinstance(left, int) and isinstance(right, int):
        quotient = abs(left) // abs(right)
        return quotient if (left < 0) == (right < 0) else -quotient
    return left / right


STEPS: dict[str, Callable[[int | float, int | float], int | float | None]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": divide,
}

COMPARISONS: dict[str, Callable[[int | float, int | float], bool]] = {
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


def fold(expression: Expression, known: Mapping[str, int]) -> int | float | bool | None:
    """The value of an expression over integers; None where a name is not known."""
    match expression:
        case Literal(value=int() | float() as value):
            return value
        case Name():
            return known.get(expression.key)
        case Unary(operator=operator, operand=operand):
            inner = fold(operand, known)
            if inner is None:
                return None
            return -inner if operator == "-" else not inner
        case Binary(operator=operator, left=left, right=right):
            return _binary(operator, fold(left, known), fold(right, known))
    return None


def _binary(
    operator: str, left: int | float | bool | None, right: int | float | bool | None
) -> int | float | bool | None:
    if left is None or right is None:
        return None
    if operator in STEPS:
        return STEPS[operator](left, right)
    if operator in COMPARISONS:
        return COMPARISONS[operator](left, right)
    return bool(left and right) if operator == "and" else bool(left or right)
