"""How two memory accesses of one thread lie to each other; used by "memory_flow".

By canonical addresses: polynomials of "addresses" in one iteration of every loop around.
"""

from __future__ import annotations

from enum import Enum

from sassql.facts.addresses import NO_BASE, Address, AddressKind, Base
from sassql.facts.alias import Answer, meets, overlaps
from sassql.facts.counters import Counters
from sassql.facts.loops import Loops
from sassql.facts.polynomials import Atom, AtomKind, Polynomial, mentioned
from sassql.isa.spaces import Space

_GENERIC = (Space.GLOBAL, Space.SHARED, Space.LOCAL, Space.GENERIC)


class Relation(Enum):
    """Of a store's bytes to a load's, in one thread and one iteration."""

    SAME = "same"
    """The store writes every byte of the load."""
    APART = "apart"
    """They have no byte in common."""
    UNKNOWN = "unknown"
    """They may have, or have some."""


def spaces_meet(a: Space, b: Space) -> bool:
    """True where two spaces can hold the same byte."""
    if Space.UNKNOWN in (a, b):
        return True
    return a is b or (Space.GENERIC in (a, b) and a in _GENERIC and b in _GENERIC)


class Places:
    """Compares the accesses of one kernel; equal questions are asked once."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Space, Base, Polynomial], int] = {}
        self._groups: dict[tuple[int, int], int] = {}
        self._meeting: dict[tuple[int | None, ...], bool] = {}
        self._overlapping: dict[tuple[int | None, ...], bool] = {}

    def relation(self, store: Address, load: Address) -> Relation:
        """How the bytes lie to each other, if both addresses are of the same iteration."""
        if not spaces_meet(store.space, load.space):
            return Relation.APART
        if _nowhere(store) or _nowhere(load):
            return Relation.UNKNOWN
        if self._group(store) == self._group(load) and store.width is not None and load.width is not None:
            first, last = store.offset, store.offset + store.width
            if first <= load.offset and load.offset + load.width <= last:
                return Relation.SAME
            outside = last <= load.offset or load.offset + load.width <= first
            return Relation.APART if outside else Relation.UNKNOWN
        key = self._key(store, load)
        if key not in self._meeting:
            self._meeting[key] = meets(store, load).answer is not Answer.NO
        return Relation.UNKNOWN if self._meeting[key] else Relation.APART

    def may_overlap(self, store: Address, load: Address) -> bool:
        """False where no thread stores, in any iteration, what any thread loads."""
        if _nowhere(store) or _nowhere(load):
            return spaces_meet(store.space, load.space)
        key = self._key(store, load)
        if key not in self._overlapping:
            self._overlapping[key] = overlaps(store, load).answer is not Answer.NO
        return self._overlapping[key]

    def _group(self, address: Address) -> int:
        """A number for space, base and polynomial."""
        key = (address.instruction, address.operand)
        if key not in self._groups:
            what = (address.space, address.base, address.polynomial)
            self._groups[key] = self._numbers.setdefault(what, len(self._numbers))
        return self._groups[key]

    def _key(self, store: Address, load: Address) -> tuple[int | None, ...]:
        apart = store.offset - load.offset
        return self._group(store), self._group(load), apart, store.width, load.width


def same_buffer(store: Address, load: Address) -> bool | None:
    """Whether both count from one base; None where one is not known. Two parameters are two buffers."""
    if not spaces_meet(store.space, load.space):
        return False
    if NO_BASE in (store.base, load.base):
        return None
    return store.base == load.base


def same_elements(store: Address, load: Address) -> bool:
    """True where a thread goes through the same addresses with both, each in a loop of its own."""
    if store.space is not load.space or store.base != load.base:
        return False
    mine, theirs = _by_counter(store), _by_counter(load)
    if mine is None or theirs is None or mine[0] == theirs[0]:
        return False
    return mine[1:] == theirs[1:] and (store.offset, store.width) == (load.offset, load.width)


def _by_counter(address: Address) -> tuple[Atom, Polynomial, Polynomial] | None:
    """An address's only loop counter, what it is multiplied with, and the rest; None for another form."""
    polynomial = address.polynomial
    counters = {atom for atom in mentioned(polynomial) if atom.kind is AtomKind.COUNTER}
    if len(counters) != 1:
        return None
    counter = counters.pop()
    step = polynomial.coefficient(counter)
    product = None if step is None else step.product(Polynomial.of(counter))
    return None if step is None or product is None else (counter, step, polynomial - product)


def variant_loops(address: Address, loops: Loops, counters: Counters) -> frozenset[int]:
    """Loops around an access in which its address may change from one iteration to the next."""
    around = loops.enclosing(address.block)
    if _nowhere(address):
        return frozenset(around)
    return frozenset(n for n in around if not counters.is_invariant(address.polynomial, n))


def _nowhere(address: Address) -> bool:
    """True where nothing at all is known of an address."""
    return address.kind is AddressKind.OPAQUE and not address.polynomial.terms
