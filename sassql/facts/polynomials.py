"""Polynomials modulo 2^32 over atoms: what the low word of an address is made of.

An atom is a 32-bit word that is not taken apart further: a thread number, a parameter, a
loop counter, a loaded value, or a function (quotient, remainder, minimum, select …) of
polynomials. Everything is exact modulo 2^32, the arithmetic of a 32-bit register; a
coefficient of 0xfffffffc is printed as -4. Two polynomials that are equal have equal values
whenever their atoms have; two that differ may still be equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from weakref import WeakValueDictionary

from sassql.facts.notation import show_function, show_number, show_term

WORD = 1 << 32
MASK = WORD - 1
_SIGN = 1 << 31
MOST_TERMS = 48
"""A product with more terms is not multiplied out."""
NOWHERE = -1
BANK_SHIFT = 24


class AtomKind(Enum):
    """What an atom stands for."""

    SPECIAL = "special"
    """Thread and block numbers, launch sizes: one value for the whole run of a thread."""
    PARAMETER = "parameter"
    """A 32-bit word of the parameters; ``number`` is its offset in bytes from parameter 0."""
    CONSTANT = "constant"
    """Another word of a constant bank; ``number`` has the bank from bit 24 on, and below it the offset."""
    COUNTER = "counter"
    """How often loop ``number`` went round: 0 in its first iteration."""
    MERGE = "merge"
    """A φ of a loop header that was not solved yet; nothing but `sassql.facts.counters` sees it."""
    FUNCTION = "function"
    """A function, called ``name``, of the arguments, and of ``number`` where that is not -1."""
    LOAD = "load"
    """A value that was read from memory, ``number`` is the value of "ssa"."""
    VALUE = "value"
    """A value of "ssa" of which nothing is known."""


class Atom:
    """One atom. One object stands for equal values, in one thread, one iteration, and one kernel.

    ``home`` is the block in whose loops the value changes from one iteration to the next,
    -1 for a value that never changes. ``scope`` is None where the atom is seen from inside of
    the innermost loop of its home; else it is the value that was left when that loop ended,
    and ``scope`` is the loop that holds home and place, -1 for none. ``data`` and
    ``opaque`` say whether a loaded or an unknown value is among what the atom depends on.
    ``size`` is the length of ``key``, a text that orders atoms.

    Made by :func:`make_atom` alone, which never makes two that are alike: comparing them, and
    finding them in a dictionary, then costs next to nothing.
    """

    __slots__ = (
        "__weakref__",
        "_inside",
        "_key",
        "args",
        "data",
        "depth",
        "home",
        "kind",
        "name",
        "number",
        "opaque",
        "reason",
        "scope",
        "size",
    )

    def __init__(
        self,
        kind: AtomKind,
        name: str,
        number: int,
        args: tuple[Polynomial, ...],
        home: int,
        scope: int | None,
        data: bool,
        opaque: bool,
        reason: str,
        key: str,
    ) -> None:
        self.kind = kind
        self.name = name
        self.number = number
        self.args = args
        self.home = home
        self.scope = scope
        self.data = data
        self.opaque = opaque
        self.reason = reason
        depth = 0
        for arg in args:
            for monomial, _ in arg.terms:
                for inner in monomial:
                    depth = max(depth, inner.depth)
        self.depth: int = depth + 1 if kind is AtomKind.FUNCTION else 0
        self._key = key
        self._inside: frozenset[Atom] | None = None
        self.size = len(key) if key else self._length()

    @property
    def key(self) -> str:
        """Orders atoms; made when asked for, since that of a function holds those of its arguments."""
        if not self._key:
            last = "" if self.scope is None else f"'{self.scope}"
            self._key = f"{self.name}#{self.number}({';'.join(map(key_of, self.args))}){last}"
        return self._key

    def _length(self) -> int:
        found = len(self.name) + 3 + len(str(self.number)) + max(0, len(self.args) - 1)
        for arg in self.args:
            found += max(0, len(arg.terms) - 1)
            for monomial, coefficient in arg.terms:
                found += len(str(coefficient)) + max(1, len(monomial)) + sum(a.size for a in monomial)
        return found + (0 if self.scope is None else 1 + len(str(self.scope)))

    @property
    def inside(self) -> frozenset[Atom]:
        """Every atom of the arguments, and of theirs."""
        if self._inside is None:
            self._inside = frozenset(mentioned(*self.args)) if self.args else _NO_ATOMS
        return self._inside

    def __lt__(self, other: Atom) -> bool:
        return self.key < other.key

    def __str__(self) -> str:
        last = "" if self.scope is None else ".last"
        if self.kind is AtomKind.FUNCTION:
            return show_function(self) + last
        return self.name + last

    def __repr__(self) -> str:
        return f"<Atom {self}>"


_NO_ATOMS: frozenset[Atom] = frozenset()
_atoms: WeakValueDictionary[tuple[object, ...], Atom] = WeakValueDictionary()


def make_atom(
    kind: AtomKind,
    name: str,
    number: int = -1,
    args: tuple[Polynomial, ...] = (),
    home: int = NOWHERE,
    scope: int | None = None,
    data: bool = False,
    opaque: bool = False,
    reason: str = "",
    key: str = "",
) -> Atom:
    """The atom with these fields; the same object as long as anybody holds it. No ``key`` for a function."""
    what = (kind, name, number, args, home, scope, data, opaque, reason, key)
    found = _atoms.get(what)
    if found is None:
        found = _atoms[what] = Atom(kind, name, number, args, home, scope, data, opaque, reason, key)
    return found


Monomial = tuple[Atom, ...]


class Polynomial:
    """A sum of products: ``terms`` are (atoms in order, coefficient from 1 to 2^32-1), in order.

    >>> x = Polynomial.of(special("tid.x"))
    >>> str(x.times(4) + Polynomial.number(16) - x)
    '3*tid.x + 0x10'
    """

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: tuple[tuple[Monomial, int], ...] = ()) -> None:
        self.terms = terms
        self._hash: int | None = None

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Polynomial) and self.terms == other.terms)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self.terms)
        return self._hash

    def __repr__(self) -> str:
        return f"<Polynomial {self}>"

    @staticmethod
    def number(value: int) -> Polynomial:
        """A constant."""
        value &= MASK
        return Polynomial((((), value),)) if value else ZERO

    @staticmethod
    def of(atom: Atom) -> Polynomial:
        """One atom."""
        return Polynomial((((atom,), 1),))

    @staticmethod
    def make(terms: dict[Monomial, int]) -> Polynomial:
        """The polynomial with these coefficients, of any size and sign."""
        kept = [(monomial, c & MASK) for monomial, c in terms.items() if c & MASK]
        if len(kept) > 1:
            kept.sort(key=_order)
        return Polynomial(tuple(kept))

    @property
    def constant(self) -> int:
        """The term without atoms, from 0 to 2^32-1; it is always the first."""
        return self.terms[0][1] if self.terms and not self.terms[0][0] else 0

    @property
    def value(self) -> int | None:
        """The number that the polynomial is, from 0 to 2^32-1, or None where it has atoms."""
        if not self.terms:
            return 0
        return self.terms[0][1] if len(self.terms) == 1 and not self.terms[0][0] else None

    @property
    def without_constant(self) -> Polynomial:
        return Polynomial(self.terms[1:]) if self.constant else self

    @property
    def atoms(self) -> Iterator[Atom]:
        """The atoms of all terms, those inside of functions left out; one may come several times."""
        return (atom for monomial, _ in self.terms for atom in monomial)

    def __add__(self, other: Polynomial) -> Polynomial:
        if not other.terms:
            return self
        if not self.terms:
            return other
        found = dict(self.terms)
        for monomial, coefficient in other.terms:
            found[monomial] = found.get(monomial, 0) + coefficient
        return Polynomial.make(found)

    def __neg__(self) -> Polynomial:
        return self.times(-1)

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + other.times(-1)

    def times(self, factor: int) -> Polynomial:
        """The product with a number."""
        if factor == 1:
            return self
        return Polynomial.make({monomial: c * factor for monomial, c in self.terms})

    def product(self, other: Polynomial) -> Polynomial | None:
        """The product, or None where it would have too many terms."""
        for one, two in ((self, other), (other, self)):
            if (factor := one.value) is not None:
                return two.times(factor)
        if len(self.terms) * len(other.terms) > MOST_TERMS:
            return None
        found: dict[Monomial, int] = {}
        for left, a in self.terms:
            for right, b in other.terms:
                monomial = tuple(sorted(left + right)) if left and right else left + right
                found[monomial] = found.get(monomial, 0) + a * b
        return Polynomial.make(found)

    def coefficient(self, atom: Atom) -> Polynomial | None:
        """What is multiplied with ``atom``; None where it is squared or stands inside of a function."""
        found: dict[Monomial, int] = {}
        for monomial, coefficient in self.terms:
            count = monomial.count(atom)
            if count > 1 or any(atom in a.inside for a in monomial if a.args):
                return None
            if count:
                rest = list(monomial)
                rest.remove(atom)
                found[tuple(rest)] = coefficient
        return Polynomial.make(found)

    def evaluate(self, word_of: Callable[[Atom], int]) -> int:
        """The value, from 0 to 2^32-1, where ``word_of`` has that of every atom."""
        total = 0
        for monomial, product in self.terms:
            for atom in monomial:
                product = product * word_of(atom) & MASK  # noqa: PLW2901
            total += product
        return total & MASK

    def __str__(self) -> str:
        parts = [show_term(monomial, signed(c)) for monomial, c in self.terms if monomial]
        if self.constant or not parts:
            parts.append(show_number(signed(self.constant)))
        text = parts[0]
        for part in parts[1:]:
            text += f" - {part[1:]}" if part.startswith("-") else f" + {part}"
        return text


ZERO = Polynomial()


def _order(term: tuple[Monomial, int]) -> list[str]:
    return [atom.key for atom in term[0]]


def signed(value: int) -> int:
    """A 32-bit pattern as a number from -2^31 to 2^31-1."""
    return value - WORD if value & _SIGN else value


def mentioned(*polynomials: Polynomial) -> set[Atom]:
    """Every atom of polynomials, those inside of functions too."""
    found: set[Atom] = set()
    for polynomial in polynomials:
        for monomial, _ in polynomial.terms:
            for atom in monomial:
                if atom not in found:
                    found.add(atom)
                    if atom.args:
                        found |= atom.inside
    return found


def key_of(polynomial: Polynomial) -> str:
    """A text that equal polynomials share; it orders the arguments of what commutes."""
    return "+".join(f"{c}*{'*'.join(a.key for a in monomial)}" for monomial, c in polynomial.terms)


def special(name: str) -> Atom:
    """A thread number, a size of the launch, or the like."""
    return make_atom(AtomKind.SPECIAL, name, key=name)


def parameter(offset: int, name: str) -> Atom:
    """The 32-bit word at ``offset`` bytes of the parameters."""
    return make_atom(AtomKind.PARAMETER, name, offset, key=f"param[{offset:#06x}]")


def constant_word(bank: int, offset: int) -> Atom:
    """A word of a constant bank that is neither a parameter nor known otherwise."""
    name = f"c[{bank:#x}][{offset:#x}]"
    return make_atom(AtomKind.CONSTANT, name, bank << BANK_SHIFT | offset, key=name)


def counter(loop: int, header: int) -> Atom:
    """How often loop ``loop`` went round so far."""
    return make_atom(AtomKind.COUNTER, f"k{loop}", loop, home=header, key=f"k{loop:04}")


def merge(value: int, header: int) -> Atom:
    """A φ of a loop header that is not solved."""
    return make_atom(AtomKind.MERGE, f"phi{value}", value, home=header, opaque=True, key=f"phi{value}")


def load(value: int, home: int, name: str) -> Atom:
    """A value that comes from memory."""
    return make_atom(AtomKind.LOAD, name, value, home=home, data=True, key=f"load{value}")


def unknown(value: int, home: int, reason: str, *, data: bool = False) -> Atom:
    """A value of which nothing is known but that it is the same wherever it is read."""
    return make_atom(
        AtomKind.VALUE, f"v{value}", value, home=home, data=data, opaque=True, reason=reason, key=f"v{value}"
    )


def left_behind(inner: Atom, scope: int) -> Atom:
    """The same atom seen from outside of its loop, from inside of loop ``scope``."""
    return make_atom(
        inner.kind,
        inner.name,
        inner.number,
        inner.args,
        inner.home,
        scope,
        inner.data,
        inner.opaque,
        inner.reason,
        "" if inner.kind is AtomKind.FUNCTION else f"{inner.key}'{scope}",
    )
