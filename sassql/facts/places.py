"""How two memory accesses of one thread lie to each other; used by "memory_flow".

By canonical addresses: polynomials of "addresses" in one iteration of every loop around.
"""

from __future__ import annotations

from enum import Enum

from sassql.facts.addresses import Address, AddressKind, Base
from sassql.facts.alias import Answer, Compared
from sassql.facts.counters import Counters
from sassql.facts.loops import Loops
from sassql.facts.polynomials import Atom, AtomKind, Polynomial, mentioned
from sassql.isa.spaces import Space

_ANYWHERE = frozenset(("table", "loaded"))
"""Pointers that came from a table or from memory may be equal to any other."""
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
    """Compares the accesses of one kernel. Addresses with one space, base and polynomial are a group."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Space, Base, Polynomial], int] = {}
        self._groups: dict[tuple[int, int], int] = {}
        self._compared: dict[tuple[int, int], Compared] = {}
        self._buffers: dict[tuple[int, int], bool | None] = {}
        self._counters: dict[int, tuple[Atom, Polynomial, Polynomial] | None] = {}
        self._meeting: dict[tuple[int | None, ...], bool] = {}
        self._overlapping: dict[tuple[int | None, ...], bool] = {}

    def relation(self, store: Address, load: Address) -> Relation:
        """How the bytes lie to each other, if both addresses are of the same iteration."""
        one, two = self.group(store), self.group(load)
        nowhere = _nowhere(store) or _nowhere(load)
        if one == two and store.width is not None and load.width is not None and not nowhere:
            first, last = store.offset, store.offset + store.width
            if first <= load.offset and load.offset + load.width <= last:
                return Relation.SAME
            outside = last <= load.offset or load.offset + load.width <= first
            return Relation.APART if outside else Relation.UNKNOWN
        if not spaces_meet(store.space, load.space):
            return Relation.APART
        if nowhere:
            return Relation.UNKNOWN
        apart = store.offset - load.offset
        key = (one, two, apart, store.width, load.width)
        known = self._meeting.get(key)
        if known is None:
            verdict = self._pair(store, load, one, two).meets(apart, store.width, load.width)
            known = self._meeting[key] = verdict.answer is not Answer.NO
        return Relation.UNKNOWN if known else Relation.APART

    def may_overlap(self, store: Address, load: Address) -> bool:
        """False where no thread stores, in any iteration, what any thread loads."""
        if _nowhere(store) or _nowhere(load):
            return spaces_meet(store.space, load.space)
        one, two = self.group(store), self.group(load)
        apart = store.offset - load.offset
        key = (one, two, apart, store.width, load.width)
        known = self._overlapping.get(key)
        if known is None:
            verdict = self._pair(store, load, one, two).overlaps(apart, store.width, load.width)
            known = self._overlapping[key] = verdict.answer is not Answer.NO
        return known

    def same_elements(self, store: Address, load: Address) -> bool:
        """True where a thread goes through the same addresses with both, each in a loop of its own."""
        if (store.offset, store.width) != (load.offset, load.width):
            return False
        if store.space is not load.space or store.base != load.base:
            return False
        mine, theirs = self._counted(store), self._counted(load)
        if mine is None or theirs is None or mine[0] == theirs[0]:
            return False
        return mine[1:] == theirs[1:]

    def _counted(self, address: Address) -> tuple[Atom, Polynomial, Polynomial] | None:
        group = self.group(address)
        if group not in self._counters:
            self._counters[group] = _by_counter(address)
        return self._counters[group]

    def same_buffer(self, store: Address, load: Address) -> bool | None:
        """Whether both count from one base; None where one is not known. Two parameters are two buffers."""
        key = (self.group(store), self.group(load))
        if key not in self._buffers:
            self._buffers[key] = same_buffer(store, load)
        return self._buffers[key]

    def group(self, address: Address) -> int:
        """A number for space, base and polynomial."""
        key = (address.instruction, address.operand)
        found = self._groups.get(key)
        if found is None:
            what = (address.space, address.base, address.polynomial)
            found = self._groups[key] = self._numbers.setdefault(what, len(self._numbers))
        return found

    def _pair(self, store: Address, load: Address, one: int, two: int) -> Compared:
        found = self._compared.get((one, two))
        if found is None:
            found = self._compared[one, two] = Compared(store, load)
        return found


def same_buffer(store: Address, load: Address) -> bool | None:
    """Whether both count from one base; None where one is not known. Two parameters are two buffers."""
    if not spaces_meet(store.space, load.space):
        return False
    if "none" in (store.base.kind, load.base.kind):
        return None
    if store.base != load.base and _ANYWHERE & {store.base.kind, load.base.kind}:
        return None
    return store.base == load.base


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
    return not address.polynomial.terms and address.kind is AddressKind.OPAQUE
