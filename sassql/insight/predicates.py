"""Hashes of predicates: comparisons and truth tables in one form; opposites have opposite hashes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sassql.insight.hashing import Words, equal, magnitude, mix, negative, pair, seed, signed, where

if TYPE_CHECKING:
    from sassql.insight.exact import Call

_SWAPPED = {"GT": "LT", "GE": "LE"}
_OPPOSITE = {"NEU": "EQ", "GEU": "LT", "GTU": "LE", "LTU": "GE", "LEU": "GT", "NE": "EQU", "NAN": "NUM"}
_OPPOSITE_INTEGER = {"NE": "EQ", "GE": "LT", "LE": "GT"}
_EITHER_ORDER = frozenset({"EQ", "EQU", "NUM"})


def comparison(call: Call) -> Words:
    """A comparison joined with its predicate operand: a < b, a <= b, a = b or an opposite of these."""
    whole = call.name.startswith("i")
    names = _OPPOSITE_INTEGER if whole else _OPPOSITE
    known = {*_SWAPPED, *_OPPOSITE, "EQ", "LT", "LE", "EQU", "NUM"}
    name = next(p for p in call.parameters if p in known)
    inverted = name in names
    name = names.get(name, name)
    a, b = (call.linear(p) if call.name == "icompare" else call.hash(p) for p in (0, 1))
    if name in _SWAPPED:
        name, a, b = _SWAPPED[name], b, a
    signs = () if whole and name == "EQ" else ("U32", "U64")  # equal bits are equal with and without sign
    kept = [p for p in call.parameters if p == "FTZ" or p in signs]
    title = ".".join((call.name, name, *kept))
    found = mix(title, pair(a, b) if name in _EITHER_ORDER else mix("ordered", a, b))
    if inverted != bool(call.result):
        found = negative(found)
    joined = call.hash(2)
    if "OR" in call.parameters:
        return negative(both(negative(found), negative(joined)))
    if "XOR" in call.parameters:
        return differ(found, joined)
    return both(found, joined)


def any_bit(call: Call, value: Words) -> Words:
    """The second result of a truth table on bits: the first, ``value``, is not zero, or the carry holds."""
    zero = mix("icompare.EQ", pair(value, np.zeros_like(value)))
    return negative(both(zero, negative(call.hash(4))))


def less(a: Words, b: Words, unsigned: bool = False) -> Words:
    """A < b of integers."""
    return mix("icompare.LT.U32" if unsigned else "icompare.LT", mix("ordered", a, b))


def both(a: Words, b: Words) -> Words:
    """The conjunction of two predicates."""
    true = np.broadcast_to(seed("true"), a.shape)
    b = np.broadcast_to(b, a.shape)
    found = mix("and", pair(a, b))
    found = where(equal(a, b), a, found)
    found = where(equal(a, true), b, where(equal(b, true), a, found))
    none = equal(a, negative(true)) | equal(b, negative(true)) | equal(a, negative(b))
    return where(none, negative(true), found)


def differ(a: Words, b: Words) -> Words:
    """The exclusive disjunction of two predicates; its sign is the product of theirs."""
    true = np.broadcast_to(seed("true"), a.shape)
    b = np.broadcast_to(b, a.shape)
    (sign_a, size_a), (sign_b, size_b) = magnitude(a), magnitude(b)
    found = signed(sign_a ^ sign_b, mix("xor", pair(size_a, size_b)))
    found = where(equal(a, true), negative(b), where(equal(b, true), negative(a), found))
    found = where(equal(a, negative(true)), b, where(equal(b, negative(true)), a, found))
    return where(equal(size_a, size_b), signed(sign_a == sign_b, true), found)


def table_of_predicates(call: Call) -> Words:
    """A truth table of three predicates, by the first of them."""
    tables = call.constant(3)[1]
    a, b, c = (call.hash(place) for place in range(3))
    found = np.zeros_like(a)
    for table in np.unique(tables).tolist():
        here = tables == table
        high, low = (_of_two(int(table) >> shift & 15, b[here], c[here]) for shift in (4, 0))
        found[here] = _chosen(a[here], high, low)
    return found


def _of_two(table: int, b: Words, c: Words) -> Words:
    """A truth table of two predicates: bit 2*b + c."""
    true = np.broadcast_to(seed("true"), b.shape)

    def single(bits: int) -> Words:
        """Bit c"""
        return {0: negative(true), 1: negative(c), 2: c, 3: true}[bits]

    return _chosen(b, single(table >> 2 & 3), single(table & 3))


def _chosen(condition: Words, yes: Words, no: Words) -> Words:
    """Condition ? yes : no, as a conjunction, a disjunction or an exclusive one where it is one."""
    true = np.broadcast_to(seed("true"), condition.shape)
    false = negative(true)
    found = mix("choice", condition, yes, no)
    inverted, size = magnitude(condition)
    found = mix("choice", size, where(inverted, no, yes), where(inverted, yes, no))
    found = where(equal(no, false), both(condition, yes), found)
    found = where(equal(yes, false), both(negative(condition), no), found)
    found = where(equal(yes, true), negative(both(negative(condition), negative(no))), found)
    found = where(equal(no, true), negative(both(condition, negative(yes))), found)
    found = where(equal(yes, negative(no)), negative(differ(condition, yes)), found)
    found = where(equal(yes, no), yes, found)
    return where(equal(condition, true), yes, where(equal(condition, false), no, found))
