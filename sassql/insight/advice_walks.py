"""Which places a kernel goes through: the accesses to one buffer in one loop of the source, or one block."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from sassql.facts.addresses import Address, Addresses, AddressKind, Base
from sassql.facts.loops import NO_LOOP
from sassql.facts.polynomials import AtomKind, Polynomial, mentioned, signed
from sassql.facts.tags import SLOWPATH
from sassql.insight.advice_extents import Extent, Extents
from sassql.insight.advice_families import Families
from sassql.insight.advice_steps import by_threads, continues, divided
from sassql.isa.spaces import Space
from sassql.model.kernel import Kernel

_KINDS = ("load", "store")


@dataclass(frozen=True, slots=True)
class Walk:
    """The accesses of one kind to one buffer that one loop of the source, or one block of code, makes.

    ``start`` is the first place without base, ``step`` the bytes from one access to the next (None without
    a loop, or where it is not known), ``loops`` the family, ``parent`` the loop around it.
    """

    kind: str
    space: Space
    base: Base
    start: Polynomial
    step: Polynomial | None
    members: tuple[Address, ...]
    loops: tuple[int, ...]
    parent: int
    extent: Extent

    @property
    def at(self) -> tuple[int, ...]:
        """Instruction numbers."""
        return tuple(sorted({member.instruction for member in self.members}))

    @property
    def width(self) -> int:
        """Bytes of one access."""
        return min((member.width or 0) for member in self.members)

    def same_places(self, other: Walk) -> bool:
        """Whether a thread goes through the same places, in the same order, in both."""
        return (
            (self.space, self.base, self.start, self.step)
            == (other.space, other.base, other.start, other.step)
            and bool(self.loops) == bool(other.loops)
            and (self.step is not None or not self.loops)
        )

    @property
    def moves(self) -> bool:
        """False where the loop around it does not change the address."""
        return self.step is None or bool(self.step.terms)


class Walks:
    """The walks of a kernel through global and shared memory."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.families = Families(kernel)
        self.loops = self.families.loops
        self.extents = Extents(self.families)
        self.walks = self._walks()

    def __iter__(self) -> Iterator[Walk]:
        return iter(self.walks)

    def of(self, kind: str, *spaces: Space) -> list[Walk]:
        """The walks of one kind, in the order of their first instruction."""
        return [walk for walk in self.walks if walk.kind == kind and walk.space in spaces]

    def _walks(self) -> list[Walk]:
        groups: dict[tuple[object, ...], list[Address]] = defaultdict(list)
        for address in self._accesses():
            family = self._family_of(address)
            start = self.families.origin(address.polynomial, family)
            # copies of one iteration lie apart by what all threads share: a row, a number
            axes = by_threads(start) if family else start.without_constant
            place: object = family or (address.block, self.families.guard(address))
            groups[(place, address.access, address.space, address.base, axes)].append(address)
        made: list[list[Address]] = []
        for members in sorted(groups.values(), key=lambda g: g[0].instruction):
            earlier = self._continued(members, made)
            if earlier is None:
                made.append(members)
            else:
                earlier.extend(members)
        return sorted((self._walk(members) for members in made), key=lambda walk: walk.at)

    def _accesses(self) -> Iterator[Address]:
        addresses: Addresses = self.kernel.fact("addresses")
        tags = self.kernel.fact("tags")
        for address in addresses:
            wanted = address.access in _KINDS and address.space in (Space.GLOBAL, Space.SHARED)
            if wanted and address.width is not None and SLOWPATH not in tags.get(address.instruction, ()):
                yield address

    def _continued(self, members: list[Address], made: list[list[Address]]) -> list[Address] | None:
        """The accesses that these go on from: the ones before, in a loop that takes all but a rest."""
        if not all(continues(m.polynomial) for m in members):
            return None
        mine = self._likeness(members[0])
        return next((g for g in reversed(made) if self._likeness(g[0]) == mine and self._is_looped(g)), None)

    def _is_looped(self, members: list[Address]) -> bool:
        return any(self._family_of(m) for m in members)

    def _likeness(self, address: Address) -> tuple[object, ...]:
        family = self._family_of(address)
        parent = self.loops[family[0]].parent if family else self.loops.of[address.block]
        start = by_threads(self.families.origin(address.polynomial, family))
        return (parent, address.access, address.space, address.base, start)

    def _family_of(self, address: Address) -> tuple[int, ...]:
        """The loops that an access belongs to: around it, or those that it goes on from."""
        inner = self.loops.of[address.block]
        before = {
            a.number
            for a in mentioned(address.polynomial)
            if a.kind is AtomKind.COUNTER and a.scope is not None and self.loops[a.number].parent == inner
        }
        if before:
            return self.families.loops_of(max(before))
        return self.families.loops_of(inner) if inner != NO_LOOP else ()

    def _walk(self, members: list[Address]) -> Walk:
        first = members[0]
        family = tuple(sorted({loop for m in members for loop in self._family_of(m)}))
        starts = [self.families.origin(m.polynomial, family) + Polynomial.number(m.offset) for m in members]
        start = min(starts, key=lambda s: (len(s.terms), signed(s.constant)))
        parent = self.loops[family[0]].parent if family else self.loops.of[first.block]
        return Walk(
            first.access,
            first.space,
            first.base,
            start,
            self._step(members, family),
            tuple(members),
            family,
            parent,
            self.extents.extent(members, family, parent),
        )

    def _step(self, members: list[Address], family: tuple[int, ...]) -> Polynomial | None:
        """Bytes from one access to the next; None where the loops of a family disagree."""
        found = set()
        for loop in family:
            inside = self.families.inside(members, loop)
            if not inside:
                continue
            stride = inside[0].stride(loop)
            places = {(m.polynomial, m.offset) for m in inside}
            step = None if stride is None else divided(stride, len(places))
            if step is None:
                return None
            found.add(step)
        return found.pop() if len(found) == 1 else None


def is_plain(walk: Walk) -> bool:
    """True where every address of a walk is known."""
    return all(m.kind in (AddressKind.PURE, AddressKind.STRUCTURAL) for m in walk.members)
