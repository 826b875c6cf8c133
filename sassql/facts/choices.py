"""Choices between polynomials, and how atoms of a polynomial are replaced by what is known of them.

A choice is a function of `sassql.facts.functions` whose value is one of its arguments: what a
guard, a select or the way into a block decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from sassql.facts import functions
from sassql.facts.functions import function
from sassql.facts.polynomials import ZERO, Atom, AtomKind, Monomial, Polynomial, mentioned, signed

DEEPEST = 12
LONGEST_KEY = 800
LONGEST_SUM = 64
"""A value whose functions are nested deeper or written longer, or whose sum is longer, is opaque."""


def choice(name: str, args: Sequence[Polynomial], number: int, home: int) -> Polynomial:
    """One of several words; what all have in common is no part of the choice.

    ``select``: the first where predicate ``number`` (a value of "ssa") holds, else the second.
    ``join``: by the way into block ``number``, in the order of its predecessors; ``entry``:
    by the way into the loop with that header. ``carry``: the first in the first iteration of the
    loop with that header, else what the way back brings from the iteration before.
    """
    first = args[0]
    if all(arg == first for arg in args):
        return first
    common = first
    for arg in args[1:]:
        other = dict(arg.terms)
        common = Polynomial(tuple((m, c) for m, c in common.terms if other.get(m) == c))
    if not common.constant:
        common += Polynomial.number(first.constant)
    rest = [arg - common for arg in args] if common.terms else args
    factor = math.gcd(*(signed(c) for arg in rest for _, c in arg.terms))
    if factor != 1:
        rest = [Polynomial.make({m: signed(c) // factor for m, c in arg.terms}) for arg in rest]
    return common + function(name, rest, number, home=home).times(factor)


def too_long(polynomial: Polynomial) -> bool:
    """True where a polynomial is of no more use, since it became too large."""
    return len(polynomial.terms) > LONGEST_SUM or any(
        atom.depth > DEEPEST or atom.size > LONGEST_KEY for atom in polynomial.atoms
    )


def expand(polynomial: Polynomial) -> Polynomial:
    """The same with each remainder written as ``x - m*(x / m)``: equal words compare equal more often."""
    total = ZERO
    for monomial, coefficient in polynomial.terms:
        product: Polynomial | None = Polynomial.number(coefficient)
        for atom in monomial:
            if product is not None:
                product = product.product(_expanded(atom))
        total += Polynomial.make({monomial: coefficient}) if product is None else product
    return total


def _expanded(atom: Atom) -> Polynomial:
    if atom.kind is AtomKind.FUNCTION and atom.name == "mod" and atom.scope is None:
        inside = atom.args[0]
        return inside - functions.quotient(inside, atom.number).times(atom.number)
    return Polynomial.of(atom)


def rebuild(atom: Atom, args: Sequence[Polynomial]) -> Polynomial:
    """The function ``atom`` of other arguments, simplified again."""
    match atom.name:
        case "mod":
            return functions.remainder(args[0], atom.number)
        case "div":
            return functions.quotient(args[0], atom.number)
        case "sar":
            return functions.shift_right_signed(args[0], Polynomial.number(atom.number))
        case "and" | "or" | "xor":
            return functions.BITWISE[atom.name](args[0], args[1])
        case "shl" | "shr" | "sar.v":
            return functions.SHIFTS[atom.name](args[0], args[1])
        case "lop3":
            return functions.truth_table(args, atom.number)
        case "product":
            return functions.multiply(args[0], args[1])
        case "min" | "max" | "umin" | "umax":
            least, is_signed = atom.name.endswith("min"), not atom.name.startswith("u")
            return functions.least_or_most(args[0], args[1], least=least, is_signed=is_signed)
        case "select" | "join" | "entry" | "carry":
            return choice(atom.name, args, atom.number, atom.home)
        case _:
            return function(atom.name, args, atom.number, home=atom.home)


def substitute(polynomial: Polynomial, replaced: Callable[[Atom], Polynomial | None]) -> Polynomial:
    """Each atom replaced by what ``replaced`` says, None for itself; the same object where nothing is."""
    new: dict[Atom, Polynomial] = {}
    for monomial, _ in polynomial.terms:
        for atom in monomial:
            found = replaced(atom)
            if found is not None:
                new[atom] = found
    if not new:
        return polynomial
    total: dict[Monomial, int] = {}
    for monomial, coefficient in polynomial.terms:
        product = Polynomial.number(coefficient)
        for atom in monomial:
            product = functions.multiply(product, new[atom] if atom in new else Polynomial.of(atom))
        for made, c in product.terms:
            total[made] = total.get(made, 0) + c
    return Polynomial.make(total)


def substitute_inside(atom: Atom, replaced: Callable[[Atom], Polynomial | None]) -> Polynomial | None:
    """The function ``atom`` with atoms of its arguments replaced; None where there is nothing to replace."""
    args = [substitute(arg, replaced) for arg in atom.args]
    if all(new is old for new, old in zip(args, atom.args, strict=True)):
        return None
    return rebuild(atom, args)


def assume(polynomial: Polynomial, predicate: int, holds: bool) -> Polynomial:
    """The same where it is known whether ``predicate`` holds: its selects are one of their arms."""

    def replaced(atom: Atom) -> Polynomial | None:
        if not atom.args or atom.name == "carry":  # that speaks of the iteration before
            return None
        if atom.name == "select" and atom.number == predicate:
            return substitute(atom.args[0 if holds else 1], replaced)
        return substitute_inside(atom, replaced)

    if not any(atom.number == predicate and atom.name == "select" for atom in mentioned(polynomial)):
        return polynomial
    return substitute(polynomial, replaced)


def progression(back: Polynomial, own: Atom, init: Polynomial, kappa: Polynomial) -> Polynomial | None:
    """What ``own``, ``init`` at first and ``back`` of itself from then on, is after ``kappa`` steps."""
    parity = functions.remainder(kappa, 2)
    factor = back.coefficient(own)
    if factor == Polynomial.number(-1) and (back + Polynomial.of(own)).value is not None:
        return init + functions.multiply(parity, back + Polynomial.of(own) - init.times(2))
    if factor == Polynomial.number(2) and back == Polynomial.of(own).times(2):
        return functions.shift_left(init, kappa)
    atom = back.terms[0][0][0] if len(back.terms) == 1 and len(back.terms[0][0]) == 1 else None
    if atom is None or back != Polynomial.of(atom):
        return None
    itself = Polynomial.of(own)
    if atom.name == "div" and atom.args == (itself,):
        return functions.shift_right(init, kappa.times(atom.number.bit_length() - 1))
    if atom.name == "sar" and atom.args == (itself,) and init.value is not None and signed(init.value) >= 0:
        return functions.shift_right(init, kappa.times(atom.number))
    if atom.name == "xor" and itself in atom.args:
        other = atom.args[1 if atom.args[0] == itself else 0]
        if other.value is not None:
            return init + functions.multiply(parity, functions.bit_xor(init, other) - init)
    return None
