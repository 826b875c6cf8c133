"""Fact "slices": everything that a value depends on, back to loads, parameters and special registers.

Over data, and where asked for (the default) over guards and the branches that decide
whether an instruction runs. A load stops the slice; its address is left out unless asked
for. A load that must read what a store of the same thread wrote is gone through. What a guarded
instruction left in place counts only where somebody can see it (facts "stale" and
"halves").
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sassql.facts.accesses import Accesses
from sassql.facts.addresses import Addresses
from sassql.facts.control import Control
from sassql.facts.forms import Forms
from sassql.facts.memory_flow import MemoryFlow
from sassql.facts.stale import seen_inputs
from sassql.facts.values import GUARD, SSA, ValueKind
from sassql.isa.constant_reads import constant_read, place_of
from sassql.isa.meanings import templates
from sassql.isa.sequences import SHUFFLE, routine
from sassql.model.form import Form
from sassql.model.kernel import Kernel, provides
from sassql.model.operands import ConstantOperand

MOST_VALUES = 4000
"""Values that one slice looks at before it gives up."""

LOAD, ATOMIC, CONSTANT, SPECIAL, ENTRY, CALL, ROUTINE, UNKNOWN = (
    "load",
    "atomic",
    "constant",
    "special",
    "entry",
    "call",
    "routine",
    "unknown",
)
_STORED = "value"


@dataclass(frozen=True, slots=True, order=True)
class End:
    """Where a slice stops.

    ``kind`` is load, atomic, constant (a word of a constant bank: parameters and launch sizes),
    special (a special register), entry (a register when the function begins), call, routine
    (the compiler's own slow path of a division and the like: it depends on what the fast path
    depends on), or unknown. ``index`` is the instruction, -1 where there is none; ``detail`` the place, the
    register's name, or the reason.
    """

    kind: str
    index: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Slice:
    """A backward slice: ``instructions`` by number, and its ends in order.

    ``incomplete`` says why something is missing, or may be: the bound, or instructions of the kernel
    that no table has. It is empty for a whole slice, which may still have ends of kind unknown.
    """

    instructions: frozenset[int]
    ends: tuple[End, ...]
    incomplete: str = ""

    @property
    def certain(self) -> bool:
        """True where nothing is missing and nothing unknown was met: absence is then a proof."""
        return not self.incomplete and all(end.kind not in (CALL, UNKNOWN) for end in self.ends)


@dataclass(slots=True)
class Step:
    """What a slice does at one value: everything that its defining instruction brings in."""

    instructions: tuple[int, ...] = ()
    ends: tuple[End, ...] = ()
    values: tuple[int, ...] = ()
    guard: int | None = None
    addresses: tuple[int, ...] = ()
    """Values of the address, where a load is met."""
    blocks: tuple[int, ...] = ()
    """Blocks whose deciding branches count."""
    branches: tuple[int, ...] = ()
    """Branches that choose between the ways into a φ."""


@dataclass(slots=True)
class _Work:
    """One slice being made."""

    control: bool
    address: bool
    seen: set[int] = field(default_factory=set)
    pending: list[int] = field(default_factory=list)
    branches: set[int] = field(default_factory=set)
    ends: set[End] = field(default_factory=set)
    blocks: set[int] = field(default_factory=set)

    def add(self, values: Iterable[int]) -> None:
        """Values to look at, those that are known already left out."""
        for value in values:
            if value not in self.seen:
                self.seen.add(value)
                self.pending.append(value)


class Slices:
    """Backward slices of one kernel; each is made once, and so is what each value adds to one."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.ssa: SSA = kernel.fact("ssa")
        self._forms: Forms = kernel.fact("forms")
        self._control: Control = kernel.fact("control")
        self._flow: MemoryFlow = kernel.fact("memory_flow")
        addresses: Addresses = kernel.fact("addresses")
        self._reads = {a.instruction: a.operand for a in addresses if a.access in ("load", "atomic", "both")}
        self._atomic = {a.instruction for a in addresses if a.access in ("atomic", "both")}
        self._of: list[int] = self._control.blocks.of.tolist()
        self._end: list[int] = self._control.blocks.end.tolist()
        self._halves: frozenset[int] = kernel.fact("halves")
        self._known: dict[tuple[int, int, bool, bool], Slice] = {}
        self._steps: dict[int, Step] = {}
        self._branches: dict[int, tuple[int, ...]] = {}
        self._deciding: dict[int, tuple[int, ...]] = {}
        self._routines: dict[int, str] | None = None
        accesses: Accesses = kernel.fact("accesses")
        self._missing = f"{len(accesses.incomplete)} unknown instructions" if accesses.incomplete else ""

    def backward(
        self, value: int, *, max: int = MOST_VALUES, control: bool = True, address: bool = False
    ) -> Slice:
        """The slice of a value of "ssa".

        Looks at ``max`` values at most. ``control`` takes guards and deciding branches in,
        ``address`` the addresses of the loads that it meets.
        """
        key = (value, max, control, address)
        if key not in self._known:
            work = _Work(control, address)
            work.add((value,))
            self._known[key] = self._run(work, max)
        return self._known[key]

    def of_instruction(
        self, index: int, *, max: int = MOST_VALUES, control: bool = True, address: bool = False
    ) -> Slice:
        """The slice of everything that an instruction reads: for a store, of what it stores."""
        work = _Work(control, address)
        ends, values = self._uses(index, data_only=True)
        work.ends.update(ends)
        work.add(values)
        if control:
            self._deciders(work, self._of[index])
            guard = self.ssa.guard(index)
            work.add(() if guard is None else (guard,))
        return self._run(work, max)

    def _run(self, work: _Work, most: int) -> Slice:
        incomplete = self._missing
        steps, pending, seen, blocks = self._steps, work.pending, work.seen, work.blocks
        done: list[Step] = []
        while pending:
            if len(done) >= most:
                incomplete = f"more than {most} values"
                break
            value = pending.pop()
            step = steps.get(value) or self.step(value)
            done.append(step)
            for source in step.values:
                if source not in seen:
                    seen.add(source)
                    pending.append(source)
            if step.addresses and work.address:
                work.add(step.addresses)
            if work.control:
                for block in step.blocks:
                    if block not in blocks:
                        self._deciders(work, block)
                for branch in step.branches:
                    self._take_branch(work, branch)
                if step.guard is not None and step.guard not in seen:
                    work.add((step.guard,))
        instructions = work.branches.union(*(step.instructions for step in done))
        ends = work.ends.union(*(step.ends for step in done if step.ends))
        return Slice(frozenset(instructions), tuple(sorted(ends)), incomplete)

    def step(self, value: int) -> Step:
        """What the instruction that makes a value brings in, or what a merge takes."""
        found = self._steps.get(value)
        if found is None:
            found = self._steps[value] = self._step(value)
        return found

    def deciding(self, value: int) -> tuple[int, ...]:
        """The values that decide whether the instruction of a value runs, or which input a merge takes."""
        step = self.step(value)
        guard = () if step.guard is None else (step.guard,)
        read = (v for branch in step.branches for v in self.ssa.read[branch])
        found = (v for block in step.blocks for v in self._deciding_block(block))
        return tuple(dict.fromkeys((*guard, *read, *found)))

    def ways(self, merge: int) -> list[tuple[int, ...]]:
        """For each way into a φ: the input that it takes, and the values that decide to go there."""
        ssa, step, seen = self.ssa, self.step(merge), set(seen_inputs(self.kernel, merge))
        found = []
        for block, value in zip(step.blocks, ssa.inputs[merge], strict=False):
            last = self._end[block] - 1
            chosen = self.ssa.read[last] if last in step.branches else ()
            if value in seen:
                found.append((value, *chosen, *self._deciding_block(block)))
        return found

    def _deciding_block(self, block: int) -> tuple[int, ...]:
        found = self._deciding.get(block)
        if found is None:
            work = _Work(control=True, address=False)
            self._deciders(work, block)
            found = self._deciding[block] = tuple(work.pending)
        return found

    def _step(self, value: int) -> Step:
        ssa = self.ssa
        index = ssa.instruction[value]
        match ssa.kind[value]:
            case ValueKind.ENTRY:
                return Step(ends=(End(ENTRY, -1, str(ssa.register[value])),))
            case ValueKind.CALL:
                name, form = self._routine(index), self._form(index)
                if not form.shape.known:
                    return Step(ends=(End(UNKNOWN, index, f"{form.opcode} is not in the tables"),))
                if name:
                    return Step((index,), (End(ROUTINE, index, name),))
                return Step(ends=(End(CALL, index, "what a call, or a store that may, left behind"),))
            case ValueKind.PHI:
                before = self._control.blocks.predecessors[ssa.block[value]]
                choosing = [b for b in before if len(self._control.blocks.successors[b]) > 1]
                branches = tuple(self._end[block] - 1 for block in choosing)
                return Step(values=seen_inputs(self.kernel, value), blocks=before, branches=branches)
            case ValueKind.PSI:
                return Step(values=seen_inputs(self.kernel, value), guard=ssa.guard(index))
            case ValueKind.DEF:
                return self._defined(value, index)

    def _defined(self, value: int, index: int) -> Step:
        ssa = self.ssa
        step = Step((index,), blocks=(ssa.block[value],), guard=ssa.guard(index))
        form = self._form(index)
        if ssa.register[value].file == "L":
            self._stored_in_slot(step, value, index)
        elif (place := constant_read(form)) is not None:
            step.ends = (End(CONSTANT, index, _place(place[0], place[1] + 4 * ssa.unit[value])),)
        elif index in self._reads:
            self._loaded(step, value, index)
        elif not form.shape.known:
            step.ends = (End(UNKNOWN, index, f"{form.opcode} is not in the tables"),)
        else:
            ends, step.values = self._uses(index)
            if index in self._halves:
                step.values = step.values[:1]
            special = next((t.detail for t in templates(form) if t.operation == "special"), "")
            step.ends = (*ends, End(SPECIAL, index, special)) if special else ends
        return step

    def _stored_in_slot(self, step: Step, value: int, index: int) -> None:
        """A word of the stack frame: what was stored there."""
        operand = self.ssa.operand[value]
        source = None if operand < 0 else self.ssa.use(index, operand, self.ssa.unit[value])
        if operand < 0:
            step.ends = (End(UNKNOWN, index, "a part of a word on the stack"),)
        elif source is not None:
            step.values = (source,)

    def _loaded(self, step: Step, value: int, index: int) -> None:
        slot = self.ssa.slot_use(index, self.ssa.unit[value]) if index in self.ssa.slots else None
        edge = self._flow.source(index)
        if slot is not None:
            step.values = (slot,)
            return
        if edge is not None:
            step.instructions = (index, edge.store)
            step.blocks = (*step.blocks, self._of[edge.store])
            step.ends, step.values = self._uses(edge.store, data_only=True)
        else:
            step.ends = (End(ATOMIC if index in self._atomic else LOAD, index),)
        step.addresses = self.ssa.address_uses(index, self._reads[index])

    def _uses(self, index: int, *, data_only: bool = False) -> tuple[tuple[End, ...], tuple[int, ...]]:
        """Everything that an instruction reads but its guard; of a store only what it stores."""
        operands = self._form(index).operands
        places = (place_of(operand) for operand in operands if isinstance(operand, ConstantOperand))
        ends = tuple(End(CONSTANT, index, _place(*found)) for found in places if found is not None)
        wanted = {p for p, o in enumerate(operands) if o.role == _STORED} if data_only else None
        reads = zip(self.ssa.accesses[index].use_keys, self.ssa.read[index], strict=True)
        return ends, tuple(
            value for key, value in reads if key != GUARD and (wanted is None or key[0] in wanted)
        )

    def _deciders(self, work: _Work, block: int) -> None:
        """The branches that decide whether a block runs; theirs follow with what they read."""
        pending = [block]
        while pending:
            here = pending.pop()
            if here in work.blocks:
                continue
            work.blocks.add(here)
            branches = self._branches.get(here)
            if branches is None:
                branches = self._branches[here] = self._control.branches(here)
            for branch in branches:
                self._take_branch(work, branch)
                pending.append(self._of[branch])

    def _take_branch(self, work: _Work, branch: int) -> None:
        if branch not in work.branches:
            work.branches.add(branch)
            work.add(self.ssa.read[branch])

    def _routine(self, index: int) -> str:
        """Which of the compiler's arithmetic routines a call calls; empty for any other."""
        if self._routines is None:
            callees: dict[int, str] = self.kernel.fact("callees")
            named = {index: routine(callee) for index, callee in callees.items()}
            self._routines = {index: name for index, name in named.items() if name != SHUFFLE}
        return self._routines.get(index, "")

    def _form(self, index: int) -> Form:
        return self._forms.of[index]


def _place(bank: int, offset: int) -> str:
    return f"c[{bank:#x}][{offset:#x}]"


@provides("slices")
def slices(kernel: Kernel) -> Slices:
    """Makes backward slices of a kernel's values."""
    return Slices(kernel)
