"""Where values come from, through registers, other lanes and memory: the walk under `sassql.invariants`.

A walk goes backwards from values to loads, parameters, sizes of the launch and thread numbers. It goes on
through shuffles, and from a load to the stores of the kernel that it may read (fact "memory_flow").
What a slow path of the compiler or a copy for diverged warps computes is what the main way computes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from sassql.facts.addresses import Address, Addresses
from sassql.facts.blocks import Blocks
from sassql.facts.control import Control
from sassql.facts.copies import Copies
from sassql.facts.counters import Counters
from sassql.facts.dominators import Dominators
from sassql.facts.forms import ByShape, Forms
from sassql.facts.formulas import Formulas
from sassql.facts.loops import Loops
from sassql.facts.memory_flow import MUST, UNKNOWN, MemoryEdge, MemoryFlow
from sassql.facts.tags import DIV_COPY, PADDING, SLOWPATH
from sassql.facts.values import GUARD, SSA, ValueKind
from sassql.isa import classes
from sassql.isa.constant_reads import constant_read, place_of
from sassql.isa.meanings import templates
from sassql.isa.sequences import SHUFFLE, routine
from sassql.isa.spaces import Space
from sassql.model.form import Form
from sassql.model.kernel import Kernel
from sassql.model.operands import ConstantOperand

READS, WRITES = ("load", "atomic", "both"), ("store", "atomic")
OUTSIDE = (Space.GLOBAL, Space.GENERIC)
"""Spaces that outlive the kernel."""
_STORED = "value"
_HIDDEN = frozenset({SLOWPATH, DIV_COPY, PADDING})
_EXCHANGES = ("lanes", "mma")


class Work:
    """Counts the values that all walks of a kernel look at."""

    def __init__(self, limit: int) -> None:
        self.left = limit
        self.limit = limit

    def take(self) -> bool:
        """False once there is nothing left."""
        self.left -= 1
        return self.left >= 0


@dataclass(slots=True)
class Step:
    """What one value is made from."""

    values: tuple[int, ...] = ()
    instruction: int = -1
    words: tuple[tuple[str, int], ...] = ()
    """(name, instruction) of parameters, sizes of the launch and thread numbers."""
    loads: tuple[int, ...] = ()
    """Loads and asynchronous copies of data from outside of the kernel, or from nobody knows where."""
    crossed: tuple[MemoryEdge, ...] = ()
    """Where a load reads what the kernel has stored."""
    exchange: bool = False
    guard: int | None = None
    unknown: str = ""


@dataclass(slots=True)
class Walk:
    """Everything behind some values; instructions by number. ``unknown`` has the reasons with places."""

    values: set[int] = field(default_factory=set)
    instructions: set[int] = field(default_factory=set)
    words: dict[str, set[int]] = field(default_factory=dict)
    loads: set[int] = field(default_factory=set)
    crossed: set[int] = field(default_factory=set)
    """Loads that read what the kernel has stored."""
    exchanges: set[int] = field(default_factory=set)
    guards: set[int] = field(default_factory=set)
    unknown: dict[str, set[int]] = field(default_factory=dict)


def _exchanges(form: Form) -> bool:
    return any(classes.belongs(n, form.opcode, form.modifiers, form.operands) for n in _EXCHANGES) or any(
        t.operation == "barrier_result" for t in templates(form)
    )


def _splits(form: Form) -> bool:
    return classes.belongs("divergence", form.opcode, form.modifiers, form.operands)


def _meets(form: Form) -> bool:
    return classes.belongs("barrier", form.opcode, form.modifiers, form.operands)


_exchange, _split = ByShape(_exchanges, numbers=True), ByShape(_splits, numbers=True)
_waits = ByShape(_meets, numbers=True)


class Flow:
    """Backward walks through one kernel."""

    def __init__(self, kernel: Kernel, work: Work) -> None:
        self.kernel, self.work = kernel, work
        self.ssa: SSA = kernel.fact("ssa")
        self.copies: Copies = kernel.fact("copies")
        self.forms: Forms = kernel.fact("forms")
        self.blocks: Blocks = kernel.fact("blocks")
        self.control: Control = kernel.fact("control")
        self.loops: Loops = kernel.fact("loops")
        self.counters: Counters = kernel.fact("counters")
        self.formulas: Formulas = kernel.fact("formulas")
        self.addresses: Addresses = kernel.fact("addresses")
        self.memory: MemoryFlow = kernel.fact("memory_flow")
        self.tree: Dominators = kernel.fact("dominators")
        self.tags = kernel.fact("tags")
        self.of: list[int] = self.blocks.of.tolist()
        self._copies: frozenset[int] = kernel.fact("div_copies")
        self._steps: dict[int, Step] = {}
        self._sources: dict[int, tuple[MemoryEdge, ...]] = {}

    def is_hidden(self, index: int) -> bool:
        """True for slow paths, copies for diverged warps, and what never runs."""
        return not _HIDDEN.isdisjoint(self.tags.get(index, ()))

    def at(self, instructions: Iterable[int]) -> tuple[int, ...]:
        """Addresses of instructions in bytes, in order."""
        return tuple(sorted({int(self.kernel.addresses[i]) for i in instructions}))

    @cached_property
    def accesses(self) -> list[Address]:
        """Every access of memory that counts."""
        return [a for a in self.addresses if not self.is_hidden(a.instruction)]

    @cached_property
    def outputs(self) -> list[Address]:
        """Stores and atomics to memory that outlives the kernel."""
        return [a for a in self.accesses if a.access in WRITES and a.space in OUTSIDE]

    @cached_property
    def inputs(self) -> list[Address]:
        """Loads from memory that outlives the kernel."""
        return [a for a in self.accesses if a.access == "load" and a.space in OUTSIDE]

    def read_at(self, index: int) -> Address | None:
        """The address that an instruction reads, outside memory first."""
        found = [a for a in self.addresses.by_instruction.get(index, ()) if a.access in READS]
        return min(found, key=lambda a: a.space not in OUTSIDE, default=None)

    def stored(self, index: int) -> tuple[int, ...]:
        """The values that a store or an atomic hands to memory."""
        places = {p for p, o in enumerate(self.forms.of[index].operands) if o.role == _STORED}
        keys = self.ssa.accesses[index].use_keys
        return tuple(v for key, v in zip(keys, self.ssa.read[index], strict=True) if key[0] in places)

    # --- walks

    def walk(self, values: Iterable[int], *, stop: frozenset[int] = frozenset()) -> Walk:
        """Everything that ``values`` are made from; instructions of ``stop`` are noted and not passed."""
        found = Walk()
        pending = list(dict.fromkeys(values))
        found.values.update(pending)
        while pending:
            if not self.work.take():
                found.unknown.setdefault(f"more than {self.work.limit} values were looked at", set())
                break
            step = self.step(pending.pop())
            self._note(found, step)
            if step.instruction in stop:
                continue
            for value in step.values:
                if value not in found.values:
                    found.values.add(value)
                    pending.append(value)
        return found

    def _note(self, found: Walk, step: Step) -> None:
        if step.instruction >= 0:
            found.instructions.add(step.instruction)
        for name, index in step.words:
            found.words.setdefault(name, set()).add(index)
        found.loads.update(step.loads)
        if step.exchange:
            found.exchanges.add(step.instruction)
        if step.guard is not None:
            found.guards.add(step.guard)
        if step.unknown:
            found.unknown.setdefault(step.unknown, set()).add(step.instruction)
        if step.crossed:
            found.crossed.add(step.instruction)

    def step(self, value: int) -> Step:
        """What a value is made from, seen through copies."""
        root = self.copies.root(value)
        found = self._steps.get(root)
        if found is None:
            found = self._steps[root] = self._step(root)
        return found

    def _step(self, value: int) -> Step:
        ssa, index = self.ssa, self.ssa.instruction[value]
        match ssa.kind[value]:
            case ValueKind.ENTRY:
                inside = self.blocks.function[ssa.block[value]] >= 0
                return Step(unknown="what a caller hands over" if inside else "")
            case ValueKind.CALL:
                return Step(instruction=index, unknown=self._call(index))
            case ValueKind.PHI:
                before = self.blocks.predecessors[ssa.block[value]]
                ways = [v for n, v in enumerate(ssa.inputs[value]) if self._counts(n, before)]
                return Step(tuple(ways))
            case ValueKind.PSI:
                return Step(ssa.inputs[value], guard=ssa.guard(index))
            case ValueKind.DEF:
                return self._defined(value, index)

    def _counts(self, way: int, before: tuple[int, ...]) -> bool:
        return way >= len(before) or before[way] not in self._copies

    def _call(self, index: int) -> str:
        if not self.forms.of[index].shape.known:
            return f"{self.forms.of[index].opcode} is not in the tables"
        for call in self.blocks.calls:
            if call.index == index:
                number = -1 if call.entry is None else self.blocks.function[call.entry]
                name = call.symbol if number < 0 else self.kernel.functions[number].name
                start = -1 if call.entry is None else int(self.blocks.start[call.entry])
                slow = SLOWPATH in self.tags.get(start, ()) or routine(name)
                return "" if slow and routine(name) != SHUFFLE else "a call"
        return "what a store to an unknown place left behind"

    def _defined(self, value: int, index: int) -> Step:
        ssa, form = self.ssa, self.forms.of[index]
        if ssa.register[value].file == "L":
            return self._stored_on_stack(value, index)
        if (place := constant_read(form)) is not None:
            offset = place[1] + 4 * ssa.unit[value]
            return Step(instruction=index, words=((self.word(place[0], offset), index),))
        address = self.read_at(index)
        if address is not None and address.space is not Space.CONSTANT:
            return self._loaded(value, index, address)
        if not form.shape.known:
            return Step(instruction=index, unknown=f"{form.opcode} is not in the tables")
        words = [(name, index) for name in self._constants(form)]
        kind = next((t.detail for t in templates(form) if t.operation == "special"), "")
        if kind:
            words.append((self.formulas.launch.special.get(kind, kind), index))
        values = self._reads(index)
        if any(t.operation == "barrier_result" for t in templates(form)):
            values += self._handed_to_barrier(index)
        return Step(values, index, tuple(words), exchange=_exchange(form))

    def _handed_to_barrier(self, index: int) -> tuple[int, ...]:
        """What the threads hand to the barrier whose result is read: the nearest before, else any."""
        barriers = [i for i in self.forms.places(_waits) if self._reads(i)]
        before = [i for i in barriers if i < index and self.tree.dominates(self.of[i], self.of[index])]
        return tuple(v for i in (before[-1:] or barriers) for v in self._reads(i))

    def _reads(self, index: int) -> tuple[int, ...]:
        keys = self.ssa.accesses[index].use_keys
        return tuple(v for key, v in zip(keys, self.ssa.read[index], strict=True) if key != GUARD)

    def _constants(self, form: Form) -> list[str]:
        places = (place_of(o) for o in form.operands if isinstance(o, ConstantOperand))
        return [self.word(*place) for place in places if place is not None]

    def word(self, bank: int, offset: int) -> str:
        """The name of a word of a constant bank: ``param2``, ``ntid.x``, or the bank's own."""
        return next((a.name for a in self.formulas.constant(bank, offset).atoms), f"c[{bank:#x}]")

    def _stored_on_stack(self, value: int, index: int) -> Step:
        operand = self.ssa.operand[value]
        source = None if operand < 0 else self.ssa.use(index, operand, self.ssa.unit[value])
        if operand < 0:
            return Step(instruction=index, unknown="a part of a word on the stack")
        return Step(() if source is None else (source,), index)

    def _loaded(self, value: int, index: int, address: Address) -> Step:
        slot = self.ssa.slot_use(index, self.ssa.unit[value]) if index in self.ssa.slots else None
        if slot is not None:
            return Step((slot,), index)
        edges = self.sources(index)
        must = any(edge.certainty == MUST for edge in edges)
        leaf = not must and (address.space in (*OUTSIDE, Space.MAP) or not edges)
        unknown = ""
        if leaf and address.space not in (*OUTSIDE, Space.MAP):
            unknown = f"{address.space.value} memory that no store of this kernel is known to have filled"
        values = tuple(v for edge in edges for v in self.stored(edge.store))
        copied = tuple(edge.store for edge in edges if self._copies_in(edge.store))
        loads = (*copied, index) if leaf else copied
        return Step(values, index, loads=loads, crossed=edges, unknown=unknown)

    def _copies_in(self, store: int) -> bool:
        """True where a store is an asynchronous copy from memory outside: it is the load as well."""
        found = self.addresses.by_instruction.get(store, ())
        return any(a.access == "load" and a.space in (*OUTSIDE, Space.MAP) for a in found)

    def sources(self, load: int) -> tuple[MemoryEdge, ...]:
        """The stores that a load may read, those that a later one of the same place shadows left out."""
        if load not in self._sources:
            self._sources[load] = self._find_sources(load)
        return self._sources[load]

    def _find_sources(self, load: int) -> tuple[MemoryEdge, ...]:
        edges = [e for e in self.memory.into(load) if not self.is_hidden(e.store)]
        must = [e for e in edges if e.certainty == MUST]
        if must:
            return tuple(must)
        kept = [e for e in edges if e.space != Space.GLOBAL.value or e.certainty != UNKNOWN or e.same_thread]
        places: dict[object, list[int]] = {}
        for edge in kept:
            address = self.addresses.of(edge.store)
            key = edge.store if address is None else (address.offset, address.polynomial)
            places.setdefault(key, []).append(edge.store)
        last = {s for stores in places.values() for s in self._unshadowed(sorted(stores), load)}
        return tuple(e for e in kept if e.store in last)

    def _unshadowed(self, stores: list[int], load: int) -> list[int]:
        """Stores to one place without those behind which another one always comes, before the load."""
        found: list[int] = []
        covered = False
        for store in reversed(stores):
            if not (covered and store < load):
                found.append(store)
            covered = covered or (store < load and self.tree.dominates(self._above(store), self.of[load]))
        return found

    def _above(self, index: int) -> int:
        """The block where it is decided whether an instruction runs, or its own."""
        branches = self.control.branches(self.of[index])
        return self.of[branches[-1]] if len(branches) == 1 else self.of[index]

    # --- control

    def deciders(self, walk: Walk, index: int) -> Walk:
        """What decides whether ``index`` runs, and which of several ways the values of ``walk`` came."""
        pending = {self.of[index], *(self.of[i] for i in walk.instructions)}
        seen: set[int] = set()
        values = list(walk.guards)
        guard = self.ssa.guard(index)
        values += [] if guard is None else [guard]
        while pending:
            block = pending.pop()
            seen.add(block)
            for branch in self.control.branches(block):
                if not _split(self.forms.of[branch]):
                    values += self.ssa.read[branch]
                    pending |= {self.of[branch]} - seen
        return self.walk(values)

    def address_values(self, address: Address) -> tuple[int, ...]:
        """The values that an address is computed from."""
        return self.ssa.address_uses(address.instruction, address.operand)
