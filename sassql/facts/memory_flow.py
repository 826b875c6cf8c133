"""Fact "memory_flow": which loads may read what which stores wrote, with what is known about it.

    STS [R2], R5      BAR.SYNC      LDS R6, [R3]      may: another thread, barrier between
    STL [R1+4], R5                  LDL R6, [R1+4]    must: the same thread's own word

``must``: on every way to the load the last store that may write its bytes is this one, by the
same thread, and it writes all of them. ``may``: the same buffer, and order is kept between
the two accesses. ``unknown``: the buffer of one is not known, or nothing orders them.
Pointers that are different parameters may still be equal: a store through one lies in the way
of a ``must`` through the other, but makes no edge of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sassql.facts.accesses import Accesses
from sassql.facts.addresses import Address, Addresses, Base
from sassql.facts.blocks import Blocks
from sassql.facts.control import Condition, Control
from sassql.facts.counters import Counters
from sassql.facts.forms import Forms
from sassql.facts.loops import Loops
from sassql.facts.orders import Orders
from sassql.facts.places import (
    Places,
    Relation,
    same_buffer,
    spaces_meet,
    variant_loops,
)
from sassql.facts.tags import SLOWPATH
from sassql.facts.values import SSA
from sassql.isa.spaces import Space
from sassql.model.kernel import Kernel, provides

MUST, MAY, UNKNOWN = "must", "may", "unknown"
MOST_PAIRS = 20_000
"""Pairs of a store and a load that one kernel's other-thread edges are looked for among."""
MOST_STEPS = 200_000
"""Blocks and stores that all backward walks of one kernel may look at."""
LONG_WALK = 64
"""Blocks after which a backward walk turns back where no store of the load's own bytes lies behind: such
ways count as ones on which nothing was stored."""

_NOTHING = "on some way nothing was stored before"
_WRITES = ("store", "atomic", "both")
_READS = ("load", "atomic")
_ORDERING = frozenset({"barrier", "mbarrier", "fence"})
_SHARED_BY_THREADS = (Space.GLOBAL, Space.SHARED, Space.GENERIC)


class MemoryEdge(NamedTuple):
    """From a store to a load, by instruction number.

    ``same_thread`` is True where the thread reads what it wrote itself, False where another
    thread must have written it, None where it is not known. ``sync`` lists what lies on
    every way from the store to the load: barrier, mbarrier, fence, async, warp, and loop
    where the loop of the store ends in between or goes on to its next iteration.
    """

    store: int
    load: int
    space: str
    certainty: str
    same_thread: bool | None
    sync: tuple[str, ...]
    reason: str = ""

    @property
    def strongest(self) -> str:
        """The strongest synchronisation between, or ``none``."""
        return self.sync[0] if self.sync else "none"


@dataclass(slots=True, eq=False)
class MemoryFlow:
    """The edges of a kernel, by load and then by store. ``incomplete`` says what was left out, and why."""

    edges: tuple[MemoryEdge, ...]
    orders: Orders
    incomplete: tuple[str, ...] = ()
    _by_load: dict[int, list[MemoryEdge]] = field(default_factory=dict)
    _by_store: dict[int, list[MemoryEdge]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[MemoryEdge]:
        return iter(self.edges)

    def into(self, load: int) -> tuple[MemoryEdge, ...]:
        """Edges that end at instruction ``load``."""
        return tuple(self._by_load.get(load, ()))

    def out_of(self, store: int) -> tuple[MemoryEdge, ...]:
        """Edges that begin at instruction ``store``."""
        return tuple(self._by_store.get(store, ()))

    def source(self, load: int) -> MemoryEdge | None:
        """The one store whose value ``load`` must read, or None."""
        return next((e for e in self._by_load.get(load, ()) if e.certainty == MUST), None)

    def synchronisation(self, edge: MemoryEdge) -> tuple[int, ...]:
        """The instructions of the strongest kind between the two ends of an edge."""
        return self.orders.instructions(edge.strongest, edge.store, edge.load)


@dataclass(slots=True)
class _Walk:
    """What a backward walk from one load met."""

    own: list[Address] = field(default_factory=list)
    """Stores to the same bytes that end a way."""
    other: list[Address] = field(default_factory=list)
    """Stores that may write the bytes."""
    open: str = ""
    """Why it is not certain that one of ``own`` comes last."""


class _Builder:
    """Finds the edges of one kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.ssa: SSA = kernel.fact("ssa")
        self.forms: Forms = kernel.fact("forms")
        self.blocks: Blocks = kernel.fact("blocks")
        self.loops: Loops = kernel.fact("loops")
        self.counters: Counters = kernel.fact("counters")
        self.control: Control = kernel.fact("control")
        self.orders = Orders(kernel)
        self.places = Places()
        found: Addresses = kernel.fact("addresses")
        self.stores = [a for a in found if a.access in _WRITES and a.space is not Space.CONSTANT]
        self.loads = [a for a in found if a.access in _READS and a.space is not Space.CONSTANT]
        self.by_block: dict[int, list[Address]] = {}
        self.by_buffer: dict[tuple[Space, Base], list[Address]] = {}
        for store in self.stores:
            self.by_block.setdefault(store.block, []).append(store)
            self.by_buffer.setdefault((store.space, store.base), []).append(store)
        self.behind: dict[Space, set[int]] = {}
        tags = kernel.fact("tags")
        self.calls: dict[int, list[int]] = {}
        for call in self.blocks.calls:
            entry = -1 if call.entry is None else int(self.blocks.start[call.entry])
            if SLOWPATH not in tags.get(entry, ()):
                self.calls.setdefault(int(self.blocks.of[call.index]), []).append(call.index)
        accesses: Accesses = kernel.fact("accesses")
        for index in accesses.incomplete:  # whatever these do
            self.calls.setdefault(int(self.blocks.of[index]), []).append(index)
        self.covering: dict[int, list[Address]] = {}
        for store in self.stores:
            if store.access != "both" and store.width is not None:
                self.covering.setdefault(self.places.group(store), []).append(store)
        self.of: list[int] = self.blocks.of.tolist()
        self.end: list[int] = self.blocks.end.tolist()
        self.entries = frozenset(self.blocks.entries)
        self.crossed = _crossed(self.blocks, self.loops)
        self.conditions: dict[tuple[int, int], Condition | None] = {}
        self.left = MOST_STEPS
        self.incomplete: list[str] = []
        self.edges: list[MemoryEdge] = []

    def run(self) -> MemoryFlow:
        certain: set[tuple[int, int]] = set()
        for load in self.loads:
            if (load.instruction, load.operand) not in certain and self._own(load):
                certain.add((load.instruction, load.operand))
        self._others([x for x in self.loads if (x.instruction, x.operand) not in certain])
        self.edges.sort(key=lambda e: (e.load, e.store))
        flow = MemoryFlow(tuple(self.edges), self.orders, tuple(dict.fromkeys(self.incomplete)))
        for edge in flow.edges:
            flow._by_load.setdefault(edge.load, []).append(edge)
            flow._by_store.setdefault(edge.store, []).append(edge)
        return flow

    def _edge(self, store: Address, load: Address, certainty: str, same: bool | None, reason: str) -> None:
        sync = self.orders.between(store.instruction, load.instruction)
        space = load.space.value
        self.edges.append(
            MemoryEdge(store.instruction, load.instruction, space, certainty, same, sync, reason)
        )

    def _own(self, load: Address) -> bool:
        """Edges from the same thread's stores to the same address; True where one is certain."""
        if not any(self.places.relation(store, load) is Relation.SAME for store in self._covering(load)):
            return False  # no way can end at such a store
        walk = self._walk(load)
        own = list({store.instruction: store for store in walk.own}.values())
        reason = walk.open
        if not reason and walk.other:
            reason = "another store may write the address in between"
        if not reason and len(own) > 1:
            reason = "by the way taken, another store came last"
        for store in own:
            self._edge(store, load, MAY if reason else MUST, True, reason)
        return bool(own) and not reason

    def _covering(self, load: Address) -> Sequence[Address]:
        return self.covering.get(self.places.group(load), ())

    def _walk(self, load: Address) -> _Walk:
        walk = _Walk()
        behind = self._behind(load.space)
        if load.block not in behind:
            return walk
        varying = variant_loops(load, self.loops, self.counters)
        decided = self._decided(load)
        seen: set[tuple[int, bool, bool]] = set()
        predecessors, by_block, calls = self.blocks.predecessors, self.by_block, self.calls
        pending = [(load.block, load.instruction, False, False)]
        while pending:
            if len(seen) == LONG_WALK:  # from here on only where a store that may end the way comes before
                behind = behind & self._behind_covering(load)
            block, before, stale, looped = pending.pop()
            self.left -= 1 + len(by_block.get(block, ()))
            if self.left < 0:
                walk.open = "too many steps"
                self.incomplete.append("backward walks from loads: too many steps")
                return walk
            busy = block in by_block or block in calls
            if busy and self._scan(load, block, before, (stale, looped), walk, decided):
                continue
            if not predecessors[block] or block in self.entries:
                walk.open = walk.open or _NOTHING
            for previous in predecessors[block]:
                crossed = self.crossed.get((previous, block))
                again = looped or crossed is not None
                if not again and self._impossible(previous, block, decided):
                    continue
                if previous not in behind:
                    walk.open = walk.open or _NOTHING
                    continue
                changed = stale or (crossed is not None and not varying.isdisjoint(crossed))
                state = (previous, changed, again)
                if state not in seen:
                    seen.add(state)
                    pending.append((previous, self.end[previous], changed, again))
        return walk

    def _behind_covering(self, load: Address) -> set[int]:
        """Blocks that hold a store of all the load's bytes, or where one can have come before."""
        stores = (s for s in self._covering(load) if self.places.relation(s, load) is Relation.SAME)
        found = {store.block for store in stores}
        return found.union(*map(self.orders.following, found))

    def _behind(self, space: Space) -> set[int]:
        """Blocks that hold a store to ``space``, or where one can have come before; calls count as stores."""
        if space not in self.behind:
            start = {a.block for a in self.stores if spaces_meet(a.space, space)} | set(self.calls)
            found = set(start)
            for block in start:
                found |= self.orders.following(block)
            self.behind[space] = found
        return self.behind[space]

    def _decided(self, load: Address) -> dict[int, bool]:
        """Predicates whose value is known where the load happens."""
        found = dict(self.control.known(load.block))
        guard, value = self._guard(load.instruction)
        if value is not None:
            found[value] = guard
        return found

    def _impossible(self, block: int, target: int, decided: Mapping[int, bool]) -> bool:
        """True for a way that a thread which comes to the load cannot have taken."""
        key = (block, target)
        if key not in self.conditions:
            self.conditions[key] = self.control.condition(block, target)
        condition = self.conditions[key]
        return condition is not None and decided.get(condition[0], condition[1]) != condition[1]

    def _scan(
        self,
        load: Address,
        block: int,
        before: int,
        earlier: tuple[bool, bool],
        walk: _Walk,
        decided: Mapping[int, bool],
    ) -> bool:
        """Look at the stores of a block, the last one first; True where one ends the way.

        ``earlier``: the load's address may have been another one then; the way went round a loop.
        """
        stale, looped = earlier
        calls = self.calls.get(block, ())
        for store in reversed(self.by_block.get(block, ())):
            if store.instruction >= before:
                continue
            if calls and any(store.instruction < call < before for call in calls):
                walk.open = "a call, or an unknown instruction, may write the address"
            found = self.places.relation(store, load)
            if found is Relation.APART and not stale:
                continue
            if found is Relation.SAME and not stale and store.access != "both":
                if self._as_often(store.instruction, decided, looped):
                    walk.own.append(store)
                    return True
                walk.open = "the store has a guard that the load has not"
                walk.own.append(store)
            elif found is not Relation.APART or self.places.same_buffer(store, load) is not False:
                walk.other.append(store)
        if any(call < before for call in calls):
            walk.open = "a call, or an unknown instruction, may write the address"
        return False

    def _as_often(self, store: int, decided: Mapping[int, bool], looped: bool) -> bool:
        """True where the store happens whenever the load does; round a loop a predicate may have changed."""
        holds, value = self._guard(store)
        return value is None or (not looped and decided.get(value) == holds)

    def _guard(self, index: int) -> tuple[bool, int | None]:
        """Whether the guard's predicate must hold, and the predicate's root; None without a guard."""
        value, guard = self.ssa.guard(index), self.forms.of[index].guard
        if value is None or guard is None:
            return True, None
        return not guard.inverted, self.control.copies.root(value)

    def _others(self, loads: Iterable[Address]) -> None:
        """Edges from stores of other threads (or of other iterations) to the same buffer."""
        pairs = 0
        known = {(edge.store, edge.load) for edge in self.edges}
        for load in loads:
            if load.space not in _SHARED_BY_THREADS:
                continue
            for store, buffer in self._same_buffer(load):
                if (store.instruction, load.instruction) in known:
                    continue
                pairs += 1
                if pairs > MOST_PAIRS:
                    self.incomplete.append(f"more than {MOST_PAIRS} pairs of a store and a load")
                    return
                if not self.orders.reaches(store.instruction, load.instruction):
                    continue
                if buffer is None or self.places.may_overlap(store, load):
                    self._other(store, load, buffer)

    def _same_buffer(self, load: Address) -> Iterator[tuple[Address, bool | None]]:
        """Stores that may be to the load's buffer, and whether that is certain."""
        for stores in self.by_buffer.values():
            buffer = same_buffer(stores[0], load)
            if buffer is not False:
                yield from ((store, buffer) for store in stores)

    def _other(self, store: Address, load: Address, buffer: bool | None) -> None:
        sync = self.orders.between(store.instruction, load.instruction)
        same = True if buffer and self.places.same_elements(store, load) else None
        if same:
            certainty, reason = MAY, "the same elements, counted by another loop"
        elif buffer is None:
            certainty, reason = UNKNOWN, "the buffer of one of the two is not known"
        elif _ORDERING.isdisjoint(sync):
            certainty, reason = UNKNOWN, "nothing orders the two"
        else:
            certainty, reason = MAY, ""
        edge = MemoryEdge(
            store.instruction, load.instruction, load.space.value, certainty, same, sync, reason
        )
        self.edges.append(edge)


def _crossed(blocks: Blocks, loops: Loops) -> dict[tuple[int, int], frozenset[int]]:
    """By edge that begins an iteration, the loops of which it is the next: those with that header."""
    found: dict[tuple[int, int], set[int]] = {}
    for number, loop in enumerate(loops.loops):
        for latch in loop.latches:
            found.setdefault((latch, loop.header), set()).add(number)
    return {edge: frozenset(numbers) for edge, numbers in found.items()}


@provides("memory_flow")
def memory_flow(kernel: Kernel) -> MemoryFlow:
    """The store-to-load edges of a kernel."""
    return _Builder(kernel).run()
