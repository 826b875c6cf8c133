"""Expressions of `where`, `emit` and tests, with three truth values.

``None`` is *unknown* and spreads: a comparison with it is unknown, ``not`` of it as well.
A name inside a `for` is a list outside; where one value is needed it stands for the value
that all rungs have in common, or for ``MIXED``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from sassql.engine import functions
from sassql.engine.attributes import attribute_of, method_of
from sassql.engine.bindings import Bindings
from sassql.engine.things import (
    MIXED,
    KernelRef,
    LoopRef,
    Many,
    MotifRows,
    ValueRef,
    all_same,
    equal,
    flat,
    meet,
    single,
)
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

if TYPE_CHECKING:
    from sassql.engine.view import View

__all__ = ["MIXED", "ColumnScope", "Many", "Scope", "evaluate", "single", "truth"]


@dataclass(frozen=True, slots=True)
class Scope:
    """Where names get their meaning: a derivation of a motif in a kernel.

    ``names`` tells how a name of the text is called in the bindings.
    """

    bindings: Bindings
    view: View
    names: Mapping[str, str]

    def symbol(self, name: str) -> object:
        """A label as the instruction it lies on, or as the list of them; a loop; a row of a used motif."""
        bindings = self.bindings
        if name in bindings.labels:
            found = bindings.labels[name]
            return found[0] if len(found) == 1 else Many(found)
        if name in bindings.loops:
            return LoopRef(bindings.loops[name])
        return KernelRef() if name == "kernel" else bindings.uses.get(name)

    def name(self, name: Name) -> object:
        """What a ``%``, ``#`` or ``&`` name is bound to."""
        found = self.bindings.names.get(self.names.get(name.key, name.key))
        if found is not None:
            return ValueRef(found) if isinstance(found, tuple) else found
        held = self.bindings.lists.get(name.key)
        if held is None:
            return None
        return Many(tuple(ValueRef(item) if isinstance(item, tuple) else item for item in held))

    def attribute(self, base: object, name: str) -> object:
        """``f.op``: the attribute of one thing, or of each of a list."""
        if isinstance(base, Many):
            return Many(tuple(attribute_of(item, name, self.view) for item in base.items))
        return attribute_of(base, name, self.view)

    def method(self, base: object, name: str, arguments: Sequence[Expression]) -> object:
        """``&A.stride(K)``, ``kernel.has(MUFU.EX2)``."""
        given = [single(evaluate(a, self)) for a in arguments]
        return method_of(base, name, given, arguments, self.view)


@dataclass(frozen=True, slots=True)
class ColumnScope:
    """Where the conditions of a test get their meaning: the columns of a row."""

    columns: Mapping[str, object]

    def symbol(self, name: str) -> object:
        return self.columns.get(name)

    def name(self, name: Name) -> object:
        return None

    def attribute(self, base: object, name: str) -> object:
        return None

    def method(self, base: object, name: str, arguments: Sequence[Expression]) -> object:
        return None


class AnyScope(Protocol):
    """Where names of an expression get their meaning."""

    def symbol(self, name: str) -> object:
        """A word without a sigil."""
        ...

    def name(self, name: Name) -> object:
        """A word with one."""
        ...

    def attribute(self, base: object, name: str) -> object:
        """What follows a dot."""
        ...

    def method(self, base: object, name: str, arguments: Sequence[Expression]) -> object:
        """What follows a dot and has arguments."""
        ...


Meaning = Callable[[AnyScope], object]
"""What an expression is in a scope."""

_MOST_KNOWN = 50_000
"""Expressions whose meaning is kept; then they are made anew."""
_known: dict[int, tuple[Expression, Meaning]] = {}


def evaluate(expression: Expression, scope: AnyScope) -> object:
    """The value of an expression: a number, a text, a truth value, unknown, or `Many` of them."""
    known = _known.get(id(expression))
    return (meaning(expression) if known is None else known[1])(scope)


def meaning(expression: Expression) -> Meaning:
    """An expression as a function, made once: a condition is asked thousands of times.

    The expression is kept with it, so that its number stays its own.
    """
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    made = _MEANINGS[type(expression)](expression)
    _known[id(expression)] = expression, made
    return made


def _attribute(part: Attribute) -> Meaning:
    base, name = meaning(part.base), part.name
    return lambda scope: scope.attribute(base(scope), name)


def _call(call: Call) -> Meaning:
    match call.function:
        case Attribute(base=base, name=name):
            of, arguments = meaning(base), call.arguments
            return lambda scope: scope.method(of(scope), name, arguments)
        case Symbol(name=name):
            function, given = FUNCTIONS[name], [meaning(a) for a in call.arguments]
            return lambda scope: function([a(scope) for a in given])
    return lambda scope: None


def _unary(unary: Unary) -> Meaning:
    operand = meaning(unary.operand)
    if unary.operator == "not":

        def opposite(scope: AnyScope) -> object:
            holds = _truth(operand(scope))
            return None if holds is None else not holds

        return opposite

    def negative(scope: AnyScope) -> object:
        number = single(operand(scope))
        return -number if isinstance(number, int | float) else None

    return negative


def _of_two(binary: Binary) -> Meaning:
    operator, left, right = binary.operator, meaning(binary.left), meaning(binary.right)
    if operator not in ("and", "or"):
        return lambda scope: _binary(operator, single(left(scope)), single(right(scope)))
    decisive = operator == "or"

    def both(scope: AnyScope) -> object:
        first = _truth(left(scope))
        return first if first is decisive else _logic(decisive, first, _truth(right(scope)))

    return both


def _membership(membership: Membership) -> Meaning:
    item, choices = meaning(membership.item), [meaning(c) for c in membership.choices]
    return lambda scope: _member(single(item(scope)), [single(c(scope)) for c in choices])


def _matches(matches: Matches) -> Meaning:
    item, pattern = meaning(matches.item), re.compile(matches.pattern)

    def found(scope: AnyScope) -> object:
        text = single(item(scope))
        return pattern.search(text) is not None if isinstance(text, str) else None

    return found


def _fixed(value: object) -> Meaning:
    return lambda scope: value


_MEANINGS: dict[type, Callable[[Any], Meaning]] = {
    Literal: lambda literal: _fixed(literal.value),
    ClassLiteral: lambda literal: _fixed(f"<{literal.name}>"),
    Name: lambda name: lambda scope: scope.name(name),
    Symbol: lambda symbol: lambda scope: scope.symbol(symbol.name),
    Attribute: _attribute,
    Call: _call,
    Unary: _unary,
    Binary: _of_two,
    Membership: _membership,
    Matches: _matches,
}


def truth(expression: Expression, scope: AnyScope) -> bool | None:
    """The truth value of a condition; unknown where it is no truth value."""
    return _truth(evaluate(expression, scope))


def _truth(value: object) -> bool | None:
    if isinstance(value, MotifRows):
        return value.truth
    value = single(value)
    return value if isinstance(value, bool) else None


def _logic(decisive: bool, left: bool | None, right: bool | None) -> bool | None:
    if right is decisive:
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
        same = equal(left, right)
        return None if same is None else same == (operator == "==")
    return None


def _member(item: object, choices: list[object]) -> bool | None:
    if item is None:
        return None
    if item in [choice for choice in choices if choice is not None]:
        return True
    return None if None in choices else False


def _count(arguments: list[object]) -> int:
    return len([item for item in flat(arguments) if item is not None])


def _over_numbers(fold: Callable[[list[int | float]], int | float]) -> Callable[[list[object]], object]:
    """An aggregate; unknown where an item is."""

    def function(arguments: list[object]) -> object:
        items = flat(arguments)
        numbers = [item for item in items if isinstance(item, int | float)]
        return fold(numbers) if items and len(numbers) == len(items) else None

    return function


def _bound(arguments: list[object]) -> bool:
    """Whether all are there: what an `opt` left out is not."""
    return all(a is not None and not (isinstance(a, Many) and not a.items) for a in arguments)


FUNCTIONS: dict[str, Callable[[list[object]], object]] = {
    "same": all_same,
    "count": _count,
    "sum": _over_numbers(sum),
    "min": _over_numbers(min),
    "max": _over_numbers(max),
    "bound": _bound,
    "overlaps": meet,
    "rank": functions.rank,
    "case": functions.case,
    "first": functions.first,
    "relation": functions.index_relation,
    "pow": functions.power,
    "distinct": functions.distinct,
    "twin": functions.twin,
    "lacks": functions.lacks_number,
}
"""The functions of the language; `sassql.lang.vocabulary.FUNCTIONS` has their names."""
