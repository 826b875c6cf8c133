"""Hashes of selects: a select of selects with a common value is one select, with one condition.

    p ? (q ? a : b) : b        p and q ? a : b
    p ? a : (q ? a : b)        p or q ? a : b
    p ? (p ? a : b) : c        p ? a : c
    p ? min(a, b) : b          p and a < b ? a : b        integers: both are the same bits where a = b

These hold for every bit pattern, so they are rewrites of level E0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sassql.insight.hashing import Mask, Words, equal, magnitude, mix, negative, seed, signed, where
from sassql.insight.predicates import both, less

if TYPE_CHECKING:
    from sassql.insight.exact import Call, Exact


class Selects:
    """Condition and values of every select so far, as hashes."""

    def __init__(self, forms: Exact) -> None:
        self.forms = forms
        size = forms.dag.size
        self.known = np.zeros(size, np.bool_)
        self._parts: npt.NDArray[np.uint32] | None = None

    def hashes(self, call: Call) -> Words:
        """P ? a : b; a sign that both have, and a predicate that is inverted, move out."""
        a, b, condition = call.hash(0), call.hash(1), call.hash(2)
        name = "select"
        if "FTZ" in call.flags:
            name = "select.FTZ"
        else:
            for place in (0, 1):
                a, b, condition = self._joined(call, place, a, b, condition)
                a, b, condition = self._joined_extreme(call, place, a, b, condition)
            self._keep(call, a, b, condition)
        inverted, size = magnitude(condition)
        first, second = where(inverted, b, a), where(inverted, a, b)
        sign, _ = magnitude(first)
        found = signed(sign, mix(name, size, signed(sign, first), signed(sign, second)))
        if name != "select":  # it changes denormal numbers, so that it is never its operand
            return found
        found = where(equal(a, b), a, found)
        true = np.broadcast_to(seed("true"), found.shape)
        return where(equal(condition, true), a, where(equal(condition, negative(true)), b, found))

    def _keep(self, call: Call, a: Words, b: Words, condition: Words) -> None:
        if self._parts is None:
            self._parts = np.zeros((3, self.forms.dag.size, 4), np.uint32)
        self.known[call.nodes] = ~equal(a, b)
        for part, value in zip(self._parts, (a, b, condition), strict=True):
            part[call.nodes] = value

    def _joined(self, call: Call, place: int, a: Words, b: Words, p: Words) -> tuple[Words, Words, Words]:
        """A select with the select in its place 0 (p holds) or 1 (it does not) opened."""
        nodes = call.arguments[place]
        known = self.known[nodes]
        if self._parts is None or not known.any():
            return a, b, p
        yes, no, q = (part[nodes] for part in self._parts)
        if place:  # p ? a : x is not p ? x : a
            b, a, p = self._open(known, (yes, no, q), b, a, negative(p))
            return a, b, negative(p)
        return self._open(known, (yes, no, q), a, b, p)

    @staticmethod
    def _open(
        known: Mask, inner: tuple[Words, Words, Words], a: Words, b: Words, p: Words
    ) -> tuple[Words, Words, Words]:
        """P ? (q ? yes : no) : b, where ``a`` is the inner select."""
        yes, no, q = inner
        same, opposite = known & equal(p, q), known & equal(p, negative(q))
        left = known & ~same & ~opposite
        first, second = left & equal(no, b), left & equal(yes, b)
        a = where(same | first, yes, where(opposite | second, no, a))
        p = where(first, both(p, q), where(second, both(p, negative(q)), p))
        return a, b, p

    def _joined_extreme(
        self, call: Call, place: int, a: Words, b: Words, p: Words
    ) -> tuple[Words, Words, Words]:
        """The same for an integer minimum or maximum of two values, one of which is the other value."""
        forms = self.forms
        nodes = call.arguments[place]
        known, least = forms.extremes.of_two_integers(nodes)
        if not known.any():
            return a, b, p
        if place:
            a, b, p = b, a, negative(p)
        parameters = [forms.dag.operations[int(code)].parameters for code in forms.dag.codes[nodes]]
        unsigned = np.array(["U32" in names for names in parameters])
        for one, other in ((0, 1), (1, 0)):
            kept, picked = (forms.dag.arguments[n, nodes] for n in (one, other))
            here = known & equal(forms.bits(kept), b)
            x, y = forms.whole(picked), forms.whole(kept)
            small, large = where(least, x, y), where(least, y, x)
            smaller = where(unsigned, less(small, large, unsigned=True), less(small, large))
            a = where(here, forms.bits(picked), a)
            p = where(here, both(p, smaller), p)
            known = known & ~here
        return (b, a, negative(p)) if place else (a, b, p)
