"""Whether two addresses name the same bytes: yes, no, or unknown, with the reason.

`must_equal`, `meets` and `same` are about one thread in one iteration; `overlaps` is about
all threads and iterations. Low words are compared (see `sassql.facts.addresses`): "no" is
certain, "yes" takes for granted that nothing is a multiple of 4 GiB away.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from sassql.facts.addresses import Address, AddressKind
from sassql.facts.choices import expand
from sassql.facts.functions import most
from sassql.facts.polynomials import (
    MASK,
    WORD,
    Atom,
    AtomKind,
    Monomial,
    Polynomial,
    key_of,
    mentioned,
    signed,
)
from sassql.isa.spaces import Space

_ANY = frozenset({Space.GLOBAL, Space.SHARED, Space.LOCAL, Space.GENERIC})
_OWN_BLOCK = frozenset({Space.SHARED})
_THREADS = ("tid.x", "tid.y", "tid.z", "laneid")
_BLOCKS = ("ctaid.x", "ctaid.y", "ctaid.z")
_FREE_ROUNDS = 1 << 20
"""A loop counter is taken to reach this."""


class Answer(Enum):
    """Three values."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """An answer and, for people, why."""

    answer: Answer
    reason: str

    def __str__(self) -> str:
        return f"{self.answer.value}: {self.reason}"


def _yes(reason: str) -> Verdict:
    return Verdict(Answer.YES, reason)


def _no(reason: str) -> Verdict:
    return Verdict(Answer.NO, reason)


def _unknown(reason: str) -> Verdict:
    return Verdict(Answer.UNKNOWN, reason)


def must_equal(a: Address, b: Address) -> Verdict:
    """Whether two accesses of one thread, in one iteration, name exactly the same bytes."""
    if (verdict := _apart(a, b)) is not None:
        return verdict
    difference = _difference(a, b)
    if not difference.terms:
        if a.width is None or b.width is None:
            return _unknown("a width is not known")
        if a.width != b.width:
            return _no(f"one place, but {a.width} and {b.width} bytes")
        return _yes("equal polynomials")
    if difference.value is not None:
        return _no(f"{signed(difference.value)} bytes apart")
    if difference.constant % _grain(difference):
        return _no(f"different modulo {_grain(difference)}")
    return _unknown(_why(a, b))


def spot(address: Address) -> Hashable:
    """Equal for any two addresses of which `must_equal` says yes: base and formula in one notation."""
    return address.base, key_of(expand(address.polynomial) + Polynomial.number(address.offset))


def same(a: Address, b: Address) -> Verdict:
    """The same place as a formula: no where the difference is not zero for all threads and iterations."""
    if (verdict := _apart(a, b)) is not None:
        return verdict
    if not _difference(a, b).terms:
        return _yes("equal polynomials")
    if AddressKind.OPAQUE in (a.kind, b.kind):
        return _unknown(_why(a, b))
    return _no("different polynomials")


def meets(a: Address, b: Address) -> Verdict:
    """Whether two accesses of one thread, in one iteration, have a byte in common."""
    return Compared(a, b).meets(a.offset - b.offset, a.width, b.width)


def overlaps(a: Address, b: Address) -> Verdict:
    """Whether the bytes that all threads touch in all iterations meet, guards and limits of loops left out.

    Thread and block numbers and loop counters are different ones for each of the two; sizes and
    parameters are common. Shared memory is one block's, local memory one thread's. Yes is
    said where numbers within the hardware's limits make the two meet: whether a launch is
    that large is not asked.
    """
    return Compared(a, b).overlaps(a.offset - b.offset, a.width, b.width)


class Compared:
    """What can be said of two polynomials once; offsets and widths are asked for again and again.

    ``apart`` is the offset of the first in bytes, less that of the second; widths are in bytes.
    """

    def __init__(self, a: Address, b: Address) -> None:
        self._a, self._b = a, b
        self._verdict = _apart(a, b)
        difference = a.polynomial - b.polynomial
        self._difference = expand(difference) if difference.terms else difference
        self._is_number = self._difference.value is not None
        self._grain = _grain(self._difference)

    def meets(self, apart: int, one: int | None, two: int | None) -> Verdict:
        """As the function of that name."""
        if self._verdict is not None:
            return self._verdict
        constant = self._difference.constant + apart & MASK
        if self._is_number and not constant:
            return _yes("equal polynomials")
        if one is None or two is None:
            return _unknown("a width is not known")
        window = range(-one + 1, two)
        if self._is_number:
            found = f"{signed(constant)} bytes apart"
            return _yes(found) if signed(constant) in window else _no(found)
        if not _reaches(constant, self._grain, window):
            return _no(f"different modulo {self._grain}")
        return _unknown(_why(self._a, self._b))

    def overlaps(self, apart: int, one: int | None, two: int | None) -> Verdict:
        """As the function of that name."""
        if self._verdict is not None:
            return self._verdict
        if one is None or two is None:
            return _unknown("a width is not known")
        if self._is_number and not (self._difference.constant + apart) & MASK:
            return _yes("equal polynomials")
        window = range(-one + 1, two)
        fixed, terms, grain, free = self._parts
        if fixed.value is None:
            return _unknown(_why(self._a, self._b))
        by = signed(fixed.value + apart & MASK)
        if not terms:
            return _yes("the same for all threads") if by in window else _no(f"{by} bytes apart")
        if not _reaches(by, grain, window):
            return _no(f"different modulo {grain}")
        if not free:
            return _unknown(_why(self._a, self._b))
        if by in window:
            return _yes("the first threads and iterations meet")
        for monomial, coefficient in terms:
            if len(monomial) == 1 and _can_bridge(by, signed(coefficient), _limit(monomial[0]), window):
                return _yes(f"{monomial[0]} of two threads or iterations bridges {by} bytes")
        return _unknown("a sum of several thread numbers or counters may bridge it")

    @cached_property
    def _parts(self) -> tuple[Polynomial, list[tuple[Monomial, int]], int, bool]:
        """What all threads have in common, what they have not, its grain, and whether it begins at 0."""
        a, b = self._a, self._b
        moving = [_moving(side) for side in (a, b)]
        fixed = (a.polynomial - moving[0]) - (b.polynomial - moving[1])
        terms = [term for side in moving for term in side.terms]
        grain = math.gcd(WORD, *(coefficient for _, coefficient in terms))
        atoms = {atom for monomial, _ in terms for atom in monomial if _varies(atom, a.space)}
        return fixed, terms, grain, all(_is_free(atom, a.space) for atom in atoms)


def _apart(a: Address, b: Address) -> Verdict | None:
    """What spaces and bases say: a verdict, or None where the polynomials decide."""
    if a.space is not b.space:
        if {a.space, b.space} <= _ANY and Space.GENERIC in (a.space, b.space):
            if a.base != b.base or a.base.kind == "none":
                return _unknown("a generic address may lie in any space")
        elif Space.UNKNOWN in (a.space, b.space):
            return _unknown("a space is not known")
        else:
            return _no(f"{a.space.value} and {b.space.value} memory")
    if Space.UNKNOWN in (a.space, b.space):
        return _unknown("a space is not known")
    if a.base != b.base:
        if a.base.kind == b.base.kind == "constant" and a.space is Space.CONSTANT:
            return _no("different constant banks")
        return _unknown(f"different bases, {a.base or 'none'} and {b.base or 'none'}")
    return None


def _difference(a: Address, b: Address) -> Polynomial:
    found = a.polynomial - b.polynomial
    return (expand(found) if found.terms else found) + Polynomial.number(a.offset - b.offset)


def _why(a: Address, b: Address) -> str:
    reason = a.reason or b.reason
    return reason if reason else "the difference depends on thread numbers, sizes or parameters"


def _grain(difference: Polynomial) -> int:
    """The largest power of two that divides every term with atoms: what is left is fixed modulo it."""
    return math.gcd(WORD, *(c for monomial, c in difference.terms if monomial))


def _reaches(constant: int, grain: int, window: range) -> bool:
    """True where a number of ``window`` is ``constant`` modulo ``grain``."""
    return len(window) >= grain or any((w - constant) % grain == 0 for w in window)


def _is_free(atom: Atom, space: Space) -> bool:
    """True for the atoms that are 0 in some thread or iteration and count from there.

    Of the threads that share ``space``: those of a block for shared memory, one for local memory.
    """
    if atom.kind is AtomKind.COUNTER:
        return atom.scope is None
    if atom.kind is not AtomKind.SPECIAL or space is Space.LOCAL:
        return False
    return atom.name in _THREADS or (atom.name in _BLOCKS and space not in _OWN_BLOCK)


def _varies(atom: Atom, space: Space) -> bool:
    """True for an atom that need not be the same in all threads and iterations."""
    if atom.home >= 0 or atom.data or atom.opaque or _is_free(atom, space):
        return True
    return any(_is_free(inner, space) or inner.home >= 0 for arg in atom.args for inner in mentioned(arg))


def _moving(address: Address) -> Polynomial:
    """The terms that other threads and iterations may have otherwise."""
    terms = address.polynomial.terms
    return Polynomial(tuple((m, c) for m, c in terms if any(_varies(atom, address.space) for atom in m)))


def _limit(atom: Atom) -> int:
    """The largest value that an atom is taken to have."""
    bound = most(Polynomial.of(atom))
    return _FREE_ROUNDS if bound is None else bound


def _can_bridge(apart: int, coefficient: int, limit: int, window: range) -> bool:
    """True where ``apart + coefficient*t`` lies in ``window`` for a ``t`` between -limit and limit."""
    if not coefficient:
        return False
    by = abs(coefficient)
    nearest = (
        apart - window.start
    ) % by + window.start  # the smallest value of that class in or above the window
    return nearest in window and abs(apart - nearest) // by <= limit
