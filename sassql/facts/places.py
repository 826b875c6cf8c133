"""How two memory accesses of one thread lie to each other; used by "memory_flow".

By canonical addresses: polynomials of "addresses" in one iteration of every loop around.
"""

from __future__ import annotations

from enum import Enum

from sassql.facts.addresses import NO_BASE, Address, AddressKind
from sassql.facts.counters import Counters
from sassql.facts.loops import Loops
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


def relation(store: Address, load: Address) -> Relation:
    """How the bytes lie to each other, if both addresses are of the same iteration."""
    if not spaces_meet(store.space, load.space):
        return Relation.APART
    if store.space is not load.space or _nowhere(store) or _nowhere(load) or store.base != load.base:
        return Relation.UNKNOWN
    if store.width is None or load.width is None or store.polynomial != load.polynomial:
        return Relation.UNKNOWN
    first, last = store.offset, store.offset + store.width
    if first <= load.offset and load.offset + load.width <= last:
        return Relation.SAME
    if last <= load.offset or load.offset + load.width <= first:
        return Relation.APART
    return Relation.UNKNOWN


def same_buffer(store: Address, load: Address) -> bool | None:
    """Whether both count from one base; None where a base is not known. Different parameters count as different."""
    if not spaces_meet(store.space, load.space):
        return False
    if store.base == NO_BASE or load.base == NO_BASE:
        return None
    return store.base == load.base


def variant_loops(address: Address, loops: Loops, counters: Counters) -> frozenset[int]:
    """Loops around an access in which its address may change from one iteration to the next."""
    around = loops.enclosing(address.block)
    if _nowhere(address):
        return frozenset(around)
    return frozenset(n for n in around if not counters.is_invariant(address.polynomial, n))


def _nowhere(address: Address) -> bool:
    """True where nothing at all is known of an address."""
    return address.kind is AddressKind.OPAQUE and not address.polynomial.terms
