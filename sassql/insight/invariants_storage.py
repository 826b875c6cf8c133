"""Observability: what becomes of each store to memory that outlives the kernel."""

from __future__ import annotations

from collections.abc import Iterator

from sassql.facts.addresses import Address, Base
from sassql.facts.index_relation import same_walk
from sassql.facts.memory_flow import MUST, UNKNOWN, MemoryEdge
from sassql.facts.places import Places, Relation, variant_loops
from sassql.facts.polynomials import Polynomial
from sassql.insight.invariants_dependency import place_of
from sassql.insight.invariants_flow import Flow
from sassql.insight.invariants_statements import Reader, Stored
from sassql.isa.spaces import Space

OUTPUT, ROUND_TRIP, OVERWRITTEN, POSSIBLY = "output", "round trip", "overwritten", "possibly observable"
NEVER_READ = "never read"
MOST_STORES = 256


class Storage:
    """The stores of one kernel to global memory."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.places = Places()
        self._stores = [a for a in flow.outputs if a.access == "store"]
        self.left_out = max(0, len(flow.outputs) - MOST_STORES)
        self._by_block: dict[int, list[Address]] = {}
        for address in self._stores:
            self._by_block.setdefault(address.block, []).append(address)

    def find(self) -> Iterator[Stored]:
        """What becomes of each stored location; stores with one formula and one fate are together."""
        together: dict[tuple[str, Base, Polynomial, str, tuple[str, ...]], list[Address]] = {}
        readers: dict[int, tuple[Reader, ...]] = {}
        for address in self.flow.outputs[:MOST_STORES]:
            readers[address.instruction] = read = tuple(self._readers(address))
            fate = self._fate(address, read)
            texts = tuple(dict.fromkeys(r.text for r in read))
            key = address.access, address.base, address.polynomial, fate, texts
            together.setdefault(key, []).append(address)
        for (access, _, _, fate, _), addresses in together.items():
            yield self._stored(access, fate, addresses, readers)
        yield from self._never_read()

    def _never_read(self) -> Iterator[Stored]:
        """Stores to shared memory that no load of the kernel may read: ptxas keeps them."""
        flow, together = self.flow, dict[tuple[Base, Polynomial], list[Address]]()
        if flow.memory.incomplete or flow.blocks.unresolved:
            return
        for address in flow.accesses:
            stores = address.access == "store" and address.space is Space.SHARED
            if stores and address.width is not None and not flow.memory.out_of(address.instruction):
                together.setdefault((address.base, address.polynomial), []).append(address)
        for addresses in together.values():
            at = flow.at(a.instruction for a in addresses)
            premise = "no other kernel of a cluster reads it"
            yield Stored(place_of(addresses[0]), "shared", NEVER_READ, (), "removable", at, premise)

    def _stored(
        self, access: str, fate: str, addresses: list[Address], readers: dict[int, tuple[Reader, ...]]
    ) -> Stored:
        first = addresses[0]
        buffer = str(first.base) or "?"
        read = tuple(dict.fromkeys(r for a in addresses for r in readers[a.instruction]))
        premise = ""
        if fate == OUTPUT and self.flow.memory.incomplete:
            premise = f"no load of this kernel reads it: {self.flow.memory.incomplete[0]}"
        elif fate == POSSIBLY:
            premise = "which buffer the address belongs to"
        elif fate in (ROUND_TRIP, OVERWRITTEN):
            premise = f"no other parameter points into {buffer}"
        return Stored(
            place=place_of(first),
            buffer=buffer,
            fate=fate,
            readers=read,
            removable=_removable(buffer, fate, read, access),
            at=self.flow.at(a.instruction for a in addresses),
            premise=premise,
        )

    def _fate(self, address: Address, readers: tuple[Reader, ...]) -> str:
        if address.access == "store" and self._is_overwritten(address):
            return OVERWRITTEN
        if any(r.certainty != UNKNOWN for r in readers):
            return ROUND_TRIP
        return OUTPUT if address.base.kind in ("parameter", "constant") else POSSIBLY

    # --- readers in this kernel

    def _readers(self, address: Address) -> Iterator[Reader]:
        flow = self.flow
        together: dict[tuple[bool | None, str, tuple[str, ...]], list[MemoryEdge]] = {}
        for edge in flow.memory.out_of(address.instruction):
            if edge.certainty == UNKNOWN and not edge.same_thread:
                continue  # nothing orders the two: no value is known to pass
            load = flow.read_at(edge.load)
            if load is not None and load.access == "load" and not flow.is_hidden(edge.load):
                together.setdefault((self._same(edge), edge.certainty, edge.sync), []).append(edge)
        for (same, certainty, sync), edges in together.items():
            between = [i for edge in edges for i in flow.memory.synchronisation(edge)]
            yield Reader(flow.at(e.load for e in edges), same, certainty, sync, flow.at(between))

    def _same(self, edge: MemoryEdge) -> bool | None:
        """Whether the thread reads its own element; no where the two formulas differ for certain."""
        if edge.same_thread is not None:
            return edge.same_thread
        store, load = self.flow.addresses.of(edge.store), self.flow.read_at(edge.load)
        if store is None or load is None:
            return None
        return False if same_walk(store, load) is False else None

    # --- overwritten

    def _is_overwritten(self, address: Address) -> bool:
        """Whether the same thread stores to all the bytes again, on every way to the end of the kernel."""
        flow = self.flow
        later = [s for s in self._stores if self._covers(s, address)]
        if not later:
            return False
        varying = variant_loops(address, flow.loops, flow.counters)
        holds = dict(flow.control.known(address.block)) | self._guarded(address.instruction)
        pending, seen = [(address.block, address.instruction)], {address.block}
        while pending:
            block, behind = pending.pop()
            if not flow.work.take():
                return False
            if any(s.block == block and s.instruction > behind and self._happens(s, holds) for s in later):
                continue
            following = self._following(block, holds)
            if not following or (block in flow.blocks.leaving and not self._stays(block, holds)):
                return False
            for target in following:
                crossed = any(
                    flow.loops[n].header == target and block in flow.loops[n].latches for n in varying
                )
                if crossed or target == address.block:
                    return False  # another iteration stores elsewhere
                if target not in seen:
                    seen.add(target)
                    pending.append((target, -1))
        return True

    def _covers(self, later: Address, earlier: Address) -> bool:
        same = later.instruction != earlier.instruction
        return same and self.places.relation(later, earlier) is Relation.SAME

    def _guarded(self, index: int) -> dict[int, bool]:
        guard, value = self.flow.forms.of[index].guard, self.flow.ssa.guard(index)
        if guard is None or value is None:
            return {}
        return {self.flow.copies.root(value): not guard.inverted}

    def _happens(self, store: Address, holds: dict[int, bool]) -> bool:
        return all(holds.get(p) == wanted for p, wanted in self._guarded(store.instruction).items())

    def _following(self, block: int, holds: dict[int, bool]) -> list[int]:
        """The blocks that a thread for which ``holds`` can come to next."""
        found = []
        for target in self.flow.blocks.successors[block]:
            condition = self.flow.control.condition(block, target)
            if condition is None or holds.get(condition[0], condition[1]) == condition[1]:
                found.append(target)
        return found

    def _stays(self, block: int, holds: dict[int, bool]) -> bool:
        """True where the guard of a block's exit is known not to hold."""
        guarded = self._guarded(int(self.flow.blocks.end[block]) - 1)
        return bool(guarded) and all(holds.get(p) == (not wanted) for p, wanted in guarded.items())


def _removable(buffer: str, fate: str, readers: tuple[Reader, ...], access: str) -> str:
    """Under which premise a store is needless, and what its readers would use in its place."""
    if access != "store" or fate not in (ROUND_TRIP, OVERWRITTEN):
        return ""
    if not readers:
        instead = ""
    elif not all(r.same_thread for r in readers):
        instead = "; its readers need the value by another route (shuffle, shared memory)"
    elif all(r.certainty == MUST for r in readers):
        instead = "; its readers can take the register"
    elif any("loop" in r.sync for r in readers):
        instead = "; a register will do where the two loops are joined, else an array of the thread"
    else:
        instead = f"; its readers can take the register where no store in between touches {buffer}"
    if fate == OVERWRITTEN:
        return f"removable if {buffer} is not read outside while the kernel runs{instead}"
    return f"removable if {buffer} is not read outside{instead}"
