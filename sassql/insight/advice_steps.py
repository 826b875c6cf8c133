"""How often a loop of the source goes round, told from the loops that the compiler made of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sassql.facts.choices import substitute, substitute_inside
from sassql.facts.polynomials import Atom, AtomKind, Polynomial, mentioned, signed
from sassql.insight.advice_conditions import is_of_thread

ONE = Polynomial.number(1)
_JOINS = ("join", "entry")
_MOST_COPIES = 32
"""Iterations that the compiler unrolls to, at most."""
_SIGN = 1 << 31
"""A remainder by this is the number without its sign: a count that is not negative."""


@dataclass(frozen=True, slots=True)
class Steps:
    """How often a counter steps: ``distance / unit``, rounded up, and not less than 0."""

    distance: Polynomial
    unit: Polynomial


def continues(polynomial: Polynomial) -> bool:
    """True for a sum that starts from 0, or from where an earlier copy of the loop stopped."""
    return any(
        atom.name in _JOINS and any(not arg.terms for arg in atom.args) for atom in mentioned(polynomial)
    )


def by_threads(polynomial: Polynomial) -> Polynomial:
    """The terms that differ from thread to thread, block to block, or by what a loop around does."""
    return Polynomial(tuple((m, c) for m, c in polynomial.terms if any(map(_differs, m))))


def _differs(atom: Atom) -> bool:
    return is_of_thread(atom) or atom.home >= 0 or any(map(is_of_thread, atom.inside))


def divided(polynomial: Polynomial, number: int) -> Polynomial | None:
    """The sum divided by a number, None where a coefficient cannot be."""
    if any(signed(c) % number for _, c in polynomial.terms):
        return None
    return Polynomial.make({m: signed(c) // number for m, c in polynomial.terms})


def joined(chain: list[Steps], tail: bool, rooms: Iterable[Polynomial | None]) -> tuple[Steps, ...]:
    """The steps of the loops of a family, whose counters are not chained, as few as can be.

    ``x - x % 8`` and, in a shorter loop or in straight code (``tail``), the rest are ``x``. A loop that stops
    a few steps early and leaves them to straight code goes as far as there is room: ``rooms`` are what
    the conditions around leave. Nothing where it is not known how many straight code takes.
    """
    first, rest = chain[0], chain[1:]
    if first.unit == ONE and (tail or rest):
        whole = _without_rest(first.distance)
        if whole is not None and all(_is_rest(steps, whole) for steps in rest):
            return (whole_steps(Steps(whole, ONE)),)
    if tail:
        unit = first.unit.value
        for room in rooms:
            left = None if room is None else (room - first.distance).value
            if unit and left and 0 < signed(left) <= _MOST_COPIES * unit and not rest:
                return (Steps(first.distance + Polynomial.number(left), first.unit),)
        return ()
    return tuple(map(whole_steps, chain))


def _without_rest(distance: Polynomial) -> Polynomial | None:
    """``x`` of ``x - x % m``."""
    for atom in _remainders(distance):
        if distance.coefficient(atom) == Polynomial.number(-1):
            whole = atom.args[0]
            if unsigned(distance + Polynomial.of(atom)) == unsigned(whole):
                return unsigned(whole)
    return None


def _is_rest(steps: Steps, whole: Polynomial) -> bool:
    """True for ``x % m`` steps."""
    return steps.unit == ONE and any(
        steps.distance == Polynomial.of(atom) and unsigned(atom.args[0]) == whole
        for atom in _remainders(steps.distance)
    )


def _remainders(polynomial: Polynomial) -> Iterator[Atom]:
    return (a for a in polynomial.atoms if a.kind is AtomKind.FUNCTION and a.name == "mod")


def unsigned(polynomial: Polynomial) -> Polynomial:
    """The same for numbers that are not negative."""

    def replaced(atom: Atom) -> Polynomial | None:
        if atom.name == "mod" and atom.number == _SIGN:
            return unsigned(atom.args[0])
        return substitute_inside(atom, replaced) if atom.args else None

    return substitute(polynomial, replaced)


def whole_steps(steps: Steps) -> Steps:
    """``(x - 1) / d + 1`` steps of 1 are ``x`` in steps of d, rounded up."""
    distance = steps.distance
    for atom in distance.atoms if steps.unit == ONE else ():
        if atom.kind is AtomKind.FUNCTION and atom.name == "div" and distance == Polynomial.of(atom) + ONE:
            return Steps(atom.args[0] + ONE, Polynomial.number(atom.number))
    return steps
