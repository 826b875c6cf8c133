"""Expressions of `where`, `emit` and tests, with three truth values.

``None`` is *unknown* and spreads: a comparison with it is unknown, ``not`` of it as well.
A name inside a `for` is a list outside; where one value is needed it stands for the value
that all rungs have in common, or for ``MIXED``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from sassql.engine.attributes import kernel_attribute, label_attribute
from sassql.engine.bindings import Bindings
from sassql.lang.ast import (
    Attribute,
    Binary,
    Call,
    ClassLiteral,
    Expression,
    Literal,
    Matches,
    Membership,
    Name,
    Symbol,
    Unary,
)
from sassql.lang.fold import COMPARISONS, STEPS
from sassql.model.kernel import Kernel

MIXED: Final = "mixed"
"""What a column says where the rungs of a run differ."""


@dataclass(frozen=True, slots=True)
class Many:
    """A value for each rung."""

    items: tuple[object, ...]

    def common(self) -> object:
        """The one value of all rungs, `MIXED` where they differ, unknown where there are none."""
        if not self.items:
            return None
        first = self.items[0]
        return first if all(item == first for item in self.items) else MIXED


@dataclass(frozen=True, slots=True)
class Scope:
    """Where names get their meaning: a derivation of a motif in a kernel.

    ``grouped`` are the labels that lie inside a `for`.
    """

    bindings: Bindings
    kernel: Kernel
    grouped: frozenset[str]
    aliases: Mapping[str, str]

    def symbol(self, name: str) -> object:
        """A label as the instructions it lies on."""
        matched = self.bindings.labels.get(name, ())
        return Many(matched) if name in self.grouped else (matched[0] if matched else None)

    def name(self, name: Name) -> object:
        """What a ``%`` or ``#`` name is bound to."""
        key = self.aliases.get(name.key, name.key)
        for known in (self.bindings.integers, self.bindings.values):
            if key in known:
                return known[key]
        held = self.bindings.lists.get(name.key)
        return None if held is None else Many(held)

    def attribute(self, part: Attribute) -> object:
        """``f.op``: the attribute of one instruction, or of each of a list."""
        if isinstance(part.base, Symbol) and part.base.name == "kernel":
            return kernel_attribute(self.kernel, part.name)
        base = evaluate(part.base, self)
        if isinstance(base, Many):
            return Many(tuple(label_attribute(self.kernel, item, part.name) for item in base.items))
        return label_attribute(self.kernel, base, part.name)


@dataclass(frozen=True, slots=True)
class ColumnScope:
    """Where the conditions of a test get their meaning: the columns of a row."""

    columns: Mapping[str, object]

    def symbol(self, name: str) -> object:
        return self.columns.get(name)

    def name(self, name: Name) -> object:
        return None

    def attribute(self, part: Attribute) -> object:
        return None


AnyScope = Scope | ColumnScope


def evaluate(expression: Expression, scope: AnyScope) -> object:
    """The value of an expression: a number, a text, a truth value, unknown, or `Many` of them."""
    match expression:
        case Literal(value=value):
            return value
        case ClassLiteral(name=name):
            return f"<{name}>"
        case Name():
            return scope.name(expression)
        case Symbol(name=name):
            return scope.symbol(name)
        case Attribute():
            return scope.attribute(expression)
        case Call(function=Symbol(name=name), arguments=arguments):
            return FUNCTIONS[name]([evaluate(a, scope) for a in arguments])
        case Unary(operator="not", operand=operand):
            holds = truth(operand, scope)
            return None if holds is None else not holds
        case Unary(operand=operand):
            number = single(evaluate(operand, scope))
            return -number if isinstance(number, int | float) else None
        case Binary(operator="and" | "or" as operator, left=left, right=right):
            return _logic(operator, truth(left, scope), truth(right, scope))
        case Binary(operator=operator, left=left, right=right):
            return _binary(operator, single(evaluate(left, scope)), single(evaluate(right, scope)))
        case Membership(item=item, choices=choices):
            return _member(single(evaluate(item, scope)), [single(evaluate(c, scope)) for c in choices])
        case Matches(item=item, pattern=pattern):
            text = single(evaluate(item, scope))
            return re.search(pattern, text) is not None if isinstance(text, str) else None
    return None


def truth(expression: Expression, scope: AnyScope) -> bool | None:
    """The truth value of a condition; unknown where it is no truth value."""
    value = single(evaluate(expression, scope))
    return value if isinstance(value, bool) else None


def single(value: object) -> object:
    """One value for a list: what its rungs have in common, or `MIXED`."""
    return value.common() if isinstance(value, Many) else value


def _logic(operator: str, left: bool | None, right: bool | None) -> bool | None:
    decisive = operator == "or"
    if decisive in (left, right):
        return decisive
    return None if None in (left, right) else not decisive


def _binary(operator: str, left: object, right: object) -> object:
    if left is None or right is None:
        return None
    if isinstance(left, int | float) and isinstance(right, int | float):
        if operator in STEPS:
            return STEPS[operator](left, right)
        return COMPARISONS[operator](left, right)
    if operator in ("==", "!="):
        return (left == right) == (operator == "==")
    return None


def _member(item: object, choices: list[object]) -> bool | None:
    if item is None:
        return None
    if item in [choice for choice in choices if choice is not None]:
        return True
    return None if None in choices else False


def _flat(arguments: Iterable[object]) -> list[object]:
    return [item for a in arguments for item in (a.items if isinstance(a, Many) else (a,))]


def _same(arguments: list[object]) -> bool | None:
    items = _flat(arguments)
    known = [item for item in items if item is not None]
    if any(item != known[0] for item in known):
        return False
    return None if len(known) < len(items) else True


def _count(arguments: list[object]) -> int:
    return len([item for item in _flat(arguments) if item is not None])


def _over_numbers(fold: Callable[[list[int | float]], int | float]) -> Callable[[list[object]], object]:
    """An aggregate; unknown where an item is."""

    def function(arguments: list[object]) -> object:
        items = _flat(arguments)
        numbers = [item for item in items if isinstance(item, int | float)]
        return fold(numbers) if items and len(numbers) == len(items) else None

    return function


FUNCTIONS: dict[str, Callable[[list[object]], object]] = {
    "same": _same,
    "count": _count,
    "sum": _over_numbers(sum),
    "min": _over_numbers(min),
    "max": _over_numbers(max),
}
"""The functions of the language; `sassql.lang.vocabulary.FUNCTIONS` has their names."""
