"""How the element that an access reads lies to the element that another one writes.

Both addresses are sums over axes: thread and block numbers, loop counters, and functions of them that
differ from thread to thread or from iteration to iteration. An axis is compared by its stride, which is
a number or has parameters and launch sizes in it.

A choice between numbers (a thread that has a second element only where the data reach so far) is no
axis but several offsets: two elements are the same where one offset of each agrees.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from fractions import Fraction
from functools import lru_cache

from sassql.facts.addresses import Address, AddressKind
from sassql.facts.polynomials import MASK, Atom, AtomKind, Monomial, Polynomial, mentioned, signed

_UNIFORM_SPECIALS = ("n", "frame")
"""Launch sizes (ntid.x, nctaid.y) and the frame are the same for all threads."""
_CHOICES = ("select", "join")
_MOST_OFFSETS = 64
"""More offsets than these stay a function."""
_MOST_RATIO = 16
"""Elements of two arrays differ in size by this factor at most: bytes and quadruples of floats."""


class Relation(Enum):
    """What one index is, seen from the other."""

    OWN = "own"
    """The same element of another array, or of the same one."""
    BROADCAST = "broadcast"
    """It lacks an axis, or is a quotient or remainder of the other: several elements share it."""
    STRIDED = "strided"
    """The same axes with other strides, of which nothing more is known."""
    SWAPPED = "swapped"
    """The same axes, and another one is contiguous: a transpose."""
    SHIFTED = "shifted"
    """A number of bytes away: a neighbour."""
    DISPLACED = "displaced"
    """A distance away that all threads have in common, and that is no number."""
    REVERSED = "reversed"
    """An axis runs the other way."""
    OTHER = "other"
    """An axis that the other one lacks: a reduction, or another part of the data."""
    GATHERED = "gathered"
    """It depends on a loaded value."""
    UNKNOWN = "unknown"


def relation(read: Address, written: Address) -> Relation:
    """How the element under ``read`` lies to the one under ``written``; offsets count in bytes of each."""
    if AddressKind.OPAQUE in (read.kind, written.kind):
        return Relation.UNKNOWN
    if read.kind is AddressKind.DATA:
        return Relation.GATHERED
    read, reads = _without_choices(read)
    written, writes = _without_choices(written)
    mine, theirs = _axes(read.polynomial), _axes(written.polynomial)
    if not mine:
        return Relation.BROADCAST if theirs else _by_offset(read, written, Fraction(1), reads, writes)
    if not mine.keys() <= theirs.keys():
        return _by_functions(mine, theirs)
    if mine.keys() < theirs.keys():
        return Relation.BROADCAST
    ratio = _ratio(mine, theirs)
    if ratio is None:
        return _with_other_strides(mine, theirs)
    if ratio < 0:
        return Relation.REVERSED
    rest = _uniform(written.polynomial) == _scaled(_uniform(read.polynomial), ratio)
    return _by_offset(read, written, ratio, reads, writes) if rest else Relation.DISPLACED


def same_walk(a: Address, b: Address) -> bool | None:
    """Whether two accesses of one thread go through the same places, each in the iterations of its own loops.

    Loop counters with equal strides stand for each other. None where an address is opaque.
    """
    if AddressKind.OPAQUE in (a.kind, b.kind):
        return None
    if a.base != b.base or a.space is not b.space:
        return False
    return a.offset == b.offset and _walk(a.polynomial) == _walk(b.polynomial)


def lacks(one: Address, other: Address) -> bool | None:
    """Whether threads or blocks that differ in the place of ``other`` share that of ``one``.

    True where a thread or block number of ``other``, or a function of them, is neither in ``one`` nor a
    function of what is. Loop counters and loaded values do not count. None where an address is opaque.
    """
    if AddressKind.OPAQUE in (one.kind, other.kind):
        return None
    mine = _numbers(one.polynomial)
    return any(
        axis.key not in mine and not ({a.key for a in _specials(axis)} <= mine.keys())
        for axis in _numbers(other.polynomial).values()
    )


def _numbers(polynomial: Polynomial) -> dict[str, Atom]:
    """Thread and block numbers of a sum and functions of them, by their keys."""
    return {
        atom.key: atom
        for monomial, _ in polynomial.terms
        for atom in monomial
        if atom.kind in (AtomKind.SPECIAL, AtomKind.FUNCTION) and _specials(atom)
    }


def _specials(atom: Atom) -> list[Atom]:
    """The thread and block numbers that an atom is or is computed from."""
    found = [atom] if atom.kind is AtomKind.SPECIAL else [a for arg in atom.args for a in mentioned(arg)]
    return [a for a in found if a.kind is AtomKind.SPECIAL and not a.name.startswith(_UNIFORM_SPECIALS)]


def _walk(polynomial: Polynomial) -> tuple[dict[Monomial, int], list[tuple[tuple[str, ...], int]]]:
    """Terms without loop counters; and those with them, the counters left out."""
    fixed: dict[Monomial, int] = {}
    moving = []
    for monomial, coefficient in polynomial.terms:
        counters = [a for a in monomial if a.kind is AtomKind.COUNTER]
        if counters:
            rest = tuple(a.key for a in monomial if a.kind is not AtomKind.COUNTER)
            moving.append((rest, coefficient))
        else:
            fixed[monomial] = coefficient
    return fixed, sorted(moving)


def _varies(atom: Atom) -> bool:
    """True where threads or iterations have different values of an atom."""
    if atom.kind is AtomKind.SPECIAL:
        return not atom.name.startswith(_UNIFORM_SPECIALS)
    if atom.kind is AtomKind.FUNCTION:
        return any(_varies(a) for arg in atom.args for a in mentioned(arg))
    return atom.kind in (AtomKind.COUNTER, AtomKind.MERGE, AtomKind.LOAD, AtomKind.VALUE)


Axes = dict[Monomial, dict[Monomial, int]]
"""By the varying atoms of a term: what they are multiplied with, as uniform atoms and number."""


def _axes(polynomial: Polynomial) -> Axes:
    found: Axes = {}
    for monomial, coefficient in polynomial.terms:
        varying = tuple(a for a in monomial if _varies(a))
        if varying:
            uniform = tuple(a for a in monomial if not _varies(a))
            found.setdefault(varying, {})[uniform] = signed(coefficient)
    return found


def _uniform(polynomial: Polynomial) -> dict[Monomial, int]:
    """The terms that are the same for all threads and iterations, without the number."""
    return {m: signed(c) for m, c in polynomial.terms if m and not any(map(_varies, m))}


def _scaled(terms: dict[Monomial, int], ratio: Fraction) -> dict[Monomial, int | Fraction]:
    return {m: c * ratio for m, c in terms.items()}


def _ratio(mine: Axes, theirs: Axes) -> Fraction | None:
    """What all strides of the one are multiplied with to be the other's; None where it is not one number."""
    ratios: set[Fraction] = set()
    for axis, strides in mine.items():
        if strides.keys() != theirs[axis].keys():
            return None
        ratios.update(Fraction(theirs[axis][m], c) for m, c in strides.items())
    if len(ratios) != 1:
        return None
    (ratio,) = ratios
    return ratio if Fraction(1, _MOST_RATIO) <= abs(ratio) <= _MOST_RATIO else None


def _with_other_strides(mine: Axes, theirs: Axes) -> Relation:
    if any((c < 0) != (theirs[a].get(m, c) < 0) for a, s in mine.items() for m, c in s.items()):
        return Relation.REVERSED
    one, other = _short(mine), _short(theirs)
    return Relation.SWAPPED if one - other and other - one else Relation.STRIDED


def _short(axes: Axes) -> set[Monomial]:
    """The axes whose stride is a number: those that lie in one row of the data."""
    return {axis for axis, strides in axes.items() if strides.keys() == {()}}


def _by_offset(read: Address, written: Address, ratio: Fraction, reads: Offsets, writes: Offsets) -> Relation:
    """Axes and strides agree: the same element where the bytes meet once both count in the same units."""
    if read.width is None or written.width is None:
        return Relation.UNKNOWN
    for one in reads:
        start, end = (read.offset + one) * ratio, (read.offset + one + read.width) * ratio
        for other in writes:
            first = written.offset + other
            if start < first + written.width and first < end:
                return Relation.OWN
    return Relation.SHIFTED


Offsets = tuple[int, ...]


def _without_choices(address: Address) -> tuple[Address, Offsets]:
    """The address without its choices between numbers, and what these may add."""
    offsets, rest, changed = {0}, Polynomial(), False
    for monomial, coefficient in address.polynomial.terms:
        chosen = _chosen(monomial)
        others = Polynomial.make({tuple(a for a in monomial if a is not chosen): coefficient})
        found = None if chosen is None else _alternatives(chosen)
        if found is None or len(found[1]) * len(offsets) > _MOST_OFFSETS:
            rest += Polynomial.make({monomial: coefficient})
            continue
        changed = True
        rest += others.product(found[0]) or Polynomial()
        if len(monomial) == 1:
            offsets = {signed(o + v * coefficient & MASK) for o in offsets for v in found[1]}
    return (replace(address, polynomial=rest), tuple(sorted(offsets))) if changed else (address, (0,))


def _chosen(monomial: Monomial) -> Atom | None:
    """The only choice of a term, where everything else in it is the same for all threads."""
    varying = [atom for atom in monomial if _varies(atom) or atom.name in _CHOICES]
    return varying[0] if len(varying) == 1 and varying[0].name in _CHOICES else None


@lru_cache(maxsize=4096)
def _alternatives(atom: Atom) -> tuple[Polynomial, Offsets] | None:
    """What a choice is apart from numbers, and the numbers that it chooses from; None for another choice."""
    if atom.kind is not AtomKind.FUNCTION:
        return None
    found = {_sums(arm) for arm in atom.args}
    if None in found:
        return None
    rests = {arm[0] for arm in found if arm is not None}
    numbers = {n for arm in found if arm is not None for n in arm[1]}
    if len(rests) != 1 or len(numbers) > _MOST_OFFSETS:
        return None
    return rests.pop(), tuple(sorted(numbers))


def _sums(arm: Polynomial) -> tuple[Polynomial, Offsets] | None:
    """An arm of a choice, choices in it made one by one."""
    sums, rest = {arm.constant}, Polynomial()
    for monomial, coefficient in arm.without_constant.terms:
        inner = monomial[0] if len(monomial) == 1 and monomial[0].name in _CHOICES else None
        found = None if inner is None else _alternatives(inner)
        if found is None:
            rest += Polynomial.make({monomial: coefficient})
        else:
            rest += found[0].times(coefficient)
            sums = {s + v * coefficient & MASK for s in sums for v in found[1]}
        if len(sums) > _MOST_OFFSETS:
            return None
    return rest, tuple(sorted(sums))


def _by_functions(mine: Axes, theirs: Axes) -> Relation:
    """Axes that the written element lacks may be quotients and remainders of its index."""
    extra = [axis for axis in mine if axis not in theirs]
    functions = [axis[0] for axis in extra if len(axis) == 1 and axis[0].kind is AtomKind.FUNCTION]
    shifted = any(arg.constant for f in functions for arg in f.args)  # the next thread's, a rotation
    if len(functions) < len(extra) or shifted or not all(_is_of_index(f, theirs) for f in functions):
        return Relation.OTHER
    return Relation.BROADCAST if len(mine) == 1 else Relation.STRIDED


def _is_of_index(function: Atom, written: Axes) -> bool:
    """True for a function of the index of the written element, or of a part of it."""
    wanted = {a for axis in written for a in axis}
    plain = {a for w in wanted for a in ({w} if w.kind is not AtomKind.FUNCTION else _leaves(w))}
    return _leaves(function) <= plain


def _leaves(function: Atom) -> set[Atom]:
    return {
        a for arg in function.args for a in mentioned(arg) if _varies(a) and a.kind is not AtomKind.FUNCTION
    }
