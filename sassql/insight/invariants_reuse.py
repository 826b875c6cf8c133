"""Reuse: which loaded values and places are used several times, and by how many threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sassql.facts.addresses import Address, AddressKind, Base
from sassql.facts.index_relation import same_walk
from sassql.facts.places import variant_loops
from sassql.facts.polynomials import Polynomial, mentioned
from sassql.facts.values import ValueKind
from sassql.insight.invariants_dependency import place_of
from sassql.insight.invariants_flow import Flow
from sassql.insight.invariants_stages import WARP, step_of
from sassql.insight.invariants_statements import Reuse
from sassql.isa.spaces import Space

MOST_LOADS = 512
_AXES = ("x", "y", "z")


class Reuses:
    """Reuse in one kernel."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        loads = [a for a in flow.accesses if a.access == "load" and a.space in (Space.GLOBAL, Space.SHARED)]
        self.loads = loads[:MOST_LOADS]
        self.left_out = len(loads) - len(self.loads)
        known = [a for a in self.loads if a.kind is not AddressKind.OPAQUE]
        self.outside = [a for a in known if a.space is Space.GLOBAL]
        self.shared = [a for a in known if a.space is Space.SHARED]
        self.axes = [n for n in _AXES if any(self._has(a, f"tid.{n}") for a in flow.accesses)]

    def find(self) -> Iterator[Reuse]:
        """Every kind of reuse."""
        yield from self._registers()
        yield from self._reloads()
        yield from self._invariant()
        yield from self._threads()

    def _has(self, address: Address, name: str) -> bool:
        return any(a.name == name for a in mentioned(address.polynomial))

    # --- values

    def _registers(self) -> Iterator[Reuse]:
        """Loaded values that several instructions use, those of one buffer together."""
        users = self._users()
        found: dict[tuple[Space, Base, int], tuple[Address, list[int], set[int]]] = {}
        for address in self.loads:
            values = [v for _, _, v in self.flow.ssa.definitions_of(address.instruction)]
            by_value = [users.get(self.flow.copies.root(v), set()) for v in values]
            most = max(map(len, by_value), default=0)
            if most > 1:
                key = address.space, address.base, most
                entry = found.setdefault(key, (address, [], set()))
                entry[1].append(address.instruction)
                entry[2].update(*by_value)
        for key, (address, loads, used) in found.items():
            most = key[-1]
            why = f"each value that is loaded is used by {most} instructions"
            yield Reuse("register", place_of(address), str(most), why, self.flow.at([*loads, *used]))

    def _users(self) -> dict[int, set[int]]:
        """By root, the instructions that compute with a value; copies of it do not."""
        flow, found = self.flow, dict[int, set[int]]()
        for index, read in enumerate(flow.ssa.read):
            if flow.is_hidden(index):
                continue
            made = {flow.copies.root(v) for _, _, v in flow.ssa.definitions_of(index)}
            for value in read:
                root = flow.copies.root(value)
                if root not in made and flow.ssa.kind[root] is ValueKind.DEF:
                    found.setdefault(root, set()).add(index)
        return found

    # --- places

    def _reloads(self) -> Iterator[Reuse]:
        """Places that a thread loads again: by one formula, or in loops that go through the same places."""
        for group in self._groups():
            first, *same = group
            blocks = {self.flow.loops.of[a.block] for a in group}
            equal = all(a.polynomial == first.polynomial for a in same)
            looping = not equal or len(blocks) > 1
            times = "in loops that go through the same places" if looping else "by one formula"
            why = f"loaded {len(group)} times, {times}"
            stores = self._stores_between(group)
            premise = ""
            if stores:
                names = ", ".join(sorted({str(s.base) or "an unknown buffer" for s in stores}))
                premise = f"the stores to {names} between them do not touch {first.base}"
            at = self.flow.at([a.instruction for a in group])
            yield Reuse("reload", place_of(first), str(len(group)), why, at, premise)

    def _groups(self) -> Iterator[list[Address]]:
        """Loads of one place each: those with one base, offset and width that go through the same places."""
        buckets: dict[tuple[Base, int, int | None], list[list[Address]]] = {}
        for address in self.outside:
            if not address.base.name:
                continue
            groups = buckets.setdefault((address.base, address.offset, address.width), [])
            home = next((g for g in groups if self._is_same(g[0], address)), None)
            if home is None:
                groups.append([address])
            else:
                home.append(address)
        yield from (group for groups in buckets.values() for group in groups if len(group) > 1)

    def _is_same(self, one: Address, other: Address) -> bool:
        return one.polynomial == other.polynomial or bool(same_walk(one, other))

    def _stores_between(self, group: Sequence[Address]) -> list[Address]:
        first, last = (pick(a.instruction for a in group) for pick in (min, max))
        orders = self.flow.memory.orders
        return [
            s
            for s in self.flow.outputs
            if orders.reaches(first, s.instruction) and orders.reaches(s.instruction, last)
        ]

    def _invariant(self) -> Iterator[Reuse]:
        """Loads that a loop repeats from one place, those of one buffer and loop together."""
        flow = self.flow
        found: dict[tuple[Base, int], list[Address]] = {}
        for address in self.loads:
            around = flow.loops.enclosing(address.block)
            if not around or address.kind is AddressKind.OPAQUE:
                continue
            varies = around[0] in variant_loops(address, flow.loops, flow.counters)
            if not varies and not self._is_filled_in(address, around[0]):
                found.setdefault((address.base, around[0]), []).append(address)
        for (_, loop), addresses in found.items():
            trips = flow.counters[loop].trips
            why = f"loop {loop} loads it anew in each iteration"
            count = "each iteration" if trips is None else str(trips)
            at = flow.at(a.instruction for a in addresses)
            yield Reuse(
                "invariant", _simplest(addresses), count, why, at, self._unwritten(addresses[0], loop)
            )

    def _is_filled_in(self, address: Address, loop: int) -> bool:
        """True where a store inside the loop may be what the load reads."""
        inside = self.flow.loops[loop].blocks
        return any(self.flow.of[e.store] in inside for e in self.flow.sources(address.instruction))

    def _unwritten(self, address: Address, loop: int) -> str:
        """What has to hold so that one load before the loop would do."""
        inside = self.flow.loops[loop].blocks
        written = {str(s.base) or "an unknown buffer" for s in self.flow.outputs if s.block in inside}
        if address.space is Space.SHARED:
            return ""
        return f"the loop's stores to {', '.join(sorted(written))} do not touch it" if written else ""

    # --- threads

    def _threads(self) -> Iterator[Reuse]:
        """Words that several threads of a block read."""
        found: dict[tuple[Space, Base, str], list[Address]] = {}
        known: dict[Polynomial, str] = {}
        for address in (*self.shared, *self.outside):
            if address.polynomial not in known:
                known[address.polynomial] = self._sharing(address)
            factor = known[address.polynomial]
            if factor:
                key = address.space, address.base, factor
                found.setdefault(key, []).append(address)
        for key, addresses in found.items():
            factor, is_shared = key[-1], key[0] is Space.SHARED
            kind = "shared" if is_shared else "broadcast"
            why = f"{factor} threads of a block read each word"
            at = self.flow.at(a.instruction for a in addresses)
            yield Reuse(kind, _simplest(addresses), str(factor), why, at, "all of them come here")

    def _sharing(self, address: Address) -> str:
        """How many threads of a block have one address, as a product; empty where each has its own."""
        if address.kind is AddressKind.DATA:
            return ""
        parts = []
        for axis in self.axes:
            name = f"tid.{axis}"
            lanes = (name, "laneid") if axis == "x" else (name,)
            near = step_of(address.polynomial, lanes, 1)
            if near.terms:
                far = step_of(address.polynomial, (name,), WARP)
                if axis == "x" and not far.terms and self._has(address, name):
                    parts.append(f"{self._size(axis)} / {WARP}")
                continue
            far = step_of(address.polynomial, (name,), WARP)
            parts.append(str(WARP) if axis == "x" and far.terms else self._size(axis))
        return " * ".join(parts)

    def _size(self, axis: str) -> str:
        required = self.flow.kernel.resources.required_block
        return f"ntid.{axis}" if required is None else str(required[_AXES.index(axis)])


def _simplest(addresses: Sequence[Address]) -> str:
    """The shortest of several places in words."""
    return min(map(place_of, addresses), key=len)
