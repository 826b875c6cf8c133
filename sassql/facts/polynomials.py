"""Polynomials modulo 2^32 over atoms: what the low word of an address is made of.

An atom is a 32-bit word that is not taken apart further: a thread number, a parameter, a
loop counter, a loaded value, or a function (quotient, remainder, minimum, select …) of
polynomials. Everything is exact modulo 2^32, the arithmetic of a 32-bit register; a
coefficient of 0xfffffffc is printed as -4. Two polynomials that are equal have equal values
whenever their atoms have; two that differ may still be equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

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


@dataclass(frozen=True, slots=True, eq=False)
class Atom:
    """One atom. Equal keys mean equal values, in one thread, one iteration, and one kernel.

    ``home`` is the block in whose loops the value changes from one iteration to the next,
    -1 for a value that never changes. ``scope`` is None where the atom is seen from inside of
    the innermost loop of its home; else it is the value that was left when that loop ended,
    and ``scope`` is the loop that holds home and place, -1 for none. ``data`` and
    ``opaque`` say whether a loaded or an unknown value is among what the atom depends on.
    """

    kind: AtomKind
    name: str
    number: int = -1
    args: tuple[Polynomial, ...] = ()
    home: int = NOWHERE
    scope: int | None = None
    data: bool = False
    opaque: bool = False
    reason: str = ""
    depth: int = 0
    key: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Atom) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __lt__(self, other: Atom) -> bool:
        return self.key < other.key

    def __str__(self) -> str:
        last = "" if self.scope is None else ".last"
        if self.kind is AtomKind.FUNCTION:
            return _show_function(self) + last
        return self.name + last


Monomial = tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A sum of products: ``terms`` are (atoms in order, coefficient from 1 to 2^32-1), in order.

    >>> x = Polynomial.of(special("tid.x"))
    >>> str(x.times(4) + Polynomial.number(16) - x)
    '3*tid.x + 0x10'
    """

    terms: tuple[tuple[Monomial, int], ...] = ()

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
            if count > 1 or any(atom in inside for a in monomial for inside in map(mentioned, a.args)):
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
        parts = [_show_term(monomial, c) for monomial, c in self.terms if monomial]
        if self.constant or not parts:
            parts.append(_show_number(signed(self.constant)))
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


def mentioned(polynomial: Polynomial) -> set[Atom]:
    """Every atom of a polynomial, those inside of functions too."""
    found: set[Atom] = set()
    pending = [polynomial]
    while pending:
        for atom in pending.pop().atoms:
            if atom not in found:
                found.add(atom)
                pending.extend(atom.args)
    return found


def special(name: str) -> Atom:
    """A thread number, a size of the launch, or the like."""
    return Atom(AtomKind.SPECIAL, name, key=name)


def parameter(offset: int, name: str) -> Atom:
    """The 32-bit word at ``offset`` bytes of the parameters."""
    return Atom(AtomKind.PARAMETER, name, offset, key=f"param[{offset:#06x}]")


def constant_word(bank: int, offset: int) -> Atom:
    """A word of a constant bank that is neither a parameter nor known otherwise."""
    name = f"c[{bank:#x}][{offset:#x}]"
    return Atom(AtomKind.CONSTANT, name, bank << BANK_SHIFT | offset, key=name)


def counter(loop: int, header: int) -> Atom:
    """How often loop ``loop`` went round so far."""
    return Atom(AtomKind.COUNTER, f"k{loop}", loop, home=header, key=f"k{loop:04}")


def merge(value: int, header: int) -> Atom:
    """A φ of a loop header that is not solved."""
    return Atom(AtomKind.MERGE, f"phi{value}", value, home=header, opaque=True, key=f"phi{value}")


def load(value: int, home: int, name: str) -> Atom:
    """A value that comes from memory."""
    return Atom(AtomKind.LOAD, name, value, home=home, data=True, key=f"load{value}")


def unknown(value: int, home: int, reason: str, *, data: bool = False) -> Atom:
    """A value of which nothing is known but that it is the same wherever it is read."""
    return Atom(
        AtomKind.VALUE, f"v{value}", value, home=home, data=data, opaque=True, reason=reason, key=f"v{value}"
    )


def left_behind(atom: Atom, scope: int) -> Atom:
    """The same atom seen from outside of its loop, from inside of loop ``scope``."""
    return Atom(
        atom.kind,
        atom.name,
        atom.number,
        atom.args,
        atom.home,
        scope,
        atom.data,
        atom.opaque,
        atom.reason,
        atom.depth,
        f"{atom.key}'{scope}",
    )


_INFIX = {"div": "/", "mod": "%", "and": "&", "or": "|", "xor": "^", "sar": ">>", "shr": ">>>", "shl": "<<"}


def _show_function(atom: Atom) -> str:
    sign = _INFIX.get(atom.name)
    parts = [f"({arg})" if len(arg.terms) > 1 else str(arg) for arg in atom.args]
    if sign is not None:
        parts += [str(atom.number)] if len(parts) == 1 else []
        return f"({f' {sign} '.join(parts)})"
    mark = f"#{atom.number}" if atom.number >= 0 else ""
    name = atom.name.partition("<")[0]  # what follows keeps two forms of an opcode apart
    return f"{name}{mark}({', '.join(map(str, atom.args))})"


def _show_term(monomial: Monomial, coefficient: int) -> str:
    number = signed(coefficient)
    factors = [str(atom) for atom in monomial]
    if number == -1:
        return "-" + "*".join(factors)
    return "*".join(([] if number == 1 else [_show_factor(number)]) + factors)


def _show_factor(number: int) -> str:
    return str(number) if abs(number) < 1 << 16 else _show_number(number)


def _show_number(number: int) -> str:
    return f"-{-number:#x}" if number < 0 else f"{number:#x}"


def joined(atoms: Iterable[Atom]) -> tuple[bool, bool]:
    """Whether one of the atoms depends on loaded data, and whether on something unknown."""
    data = opaque = False
    for atom in atoms:
        data |= atom.data
        opaque |= atom.opaque
    return data, opaque
