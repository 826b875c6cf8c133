"""Functions of expressions beyond comparing and counting: over masks of lanes, texts and addresses."""

from __future__ import annotations

from sassql.engine.pairs import remembered
from sassql.engine.things import Many, ValueRef, flat, single
from sassql.facts.addresses import Address
from sassql.facts.index_relation import Relation, lacks, relation, same_walk

_OTHERWISE = 1
"""`case` has one argument more than pairs where it ends with a default."""


def rank(arguments: list[object]) -> object:
    """How many of the numbers are independent over GF(2): a butterfly joins 2 to that power lanes."""
    items = flat(arguments)
    basis: list[int] = []
    for item in items:
        if not isinstance(item, int):
            return None
        number = item
        for known in basis:
            number = min(number, number ^ known)
        if number:
            basis.append(number)
    return len(basis)


def case(arguments: list[object]) -> object:
    """``case(x, one, "a", other, "b", "else")``: the text behind the first that equals ``x``."""
    given, *rest = (single(a) for a in arguments)
    if given is None:
        return None
    for known, value in zip(rest[0::2], rest[1::2], strict=False):
        if given == known:
            return value
    return rest[-1] if len(rest) % 2 == _OTHERWISE else None


def first(arguments: list[object]) -> object:
    """The first argument that is there: what an `either` or `opt` left out is not."""
    found = (a for a in arguments if a is not None and not (isinstance(a, Many) and not a.items))
    return next(found, None)


@remembered
def _relation(one: Address, other: Address) -> str | None:
    found = relation(one, other)
    return None if found is Relation.UNKNOWN else found.value


def index_relation(arguments: list[object]) -> object:
    """``relation(&E, &D)``: how the element under &E lies to the one under &D."""
    one, other = (single(a) for a in arguments[:2])
    if not isinstance(one, Address) or not isinstance(other, Address):
        return None
    return _relation(one, other)


_lacks = remembered(lacks)


def lacks_number(arguments: list[object]) -> object:
    """``lacks(&B, &A)``: whether &A has a thread or block number that &B has not."""
    one, other = (single(a) for a in arguments[:2])
    if not isinstance(one, Address) or not isinstance(other, Address):
        return None
    return _lacks(one, other)


def twin(arguments: list[object]) -> object:
    """``twin(&A, &B)``: whether one thread goes through the same places, each in its own loop."""
    one, other = (single(a) for a in arguments[:2])
    if not isinstance(one, Address) or not isinstance(other, Address):
        return None
    return same_walk(one, other)


def power(arguments: list[object]) -> object:
    """``pow(2, n)``."""
    base, exponent = (single(a) for a in arguments[:2])
    if not isinstance(base, int) or not isinstance(exponent, int) or not 0 <= exponent <= 64:
        return None
    return base**exponent


def distinct(arguments: list[object]) -> object:
    """How many different things there are; unknown where one of them is."""
    items = flat(arguments)
    if any(item is None for item in items):
        return None
    return len({str(item.occurrences[-1]) if isinstance(item, ValueRef) else str(item) for item in items})
