"""Fact "slices": everything that a value depends on, back to loads, parameters and special registers.

Over data, and where asked for (the default) over guards and the branches that decide
whether an instruction runs. A load stops the slice; its address is left out unless asked
for. A load that must read what a store of the same thread wrote is gone through.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sassql.facts.accesses import Accesses
from sassql.facts.addresses import Addresses
from sassql.facts.control import Control
from sassql.facts.memory_flow import MemoryFlow
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
class _Work:
    """One slice being made."""

    control: bool
    address: bool
    seen: set[int] = field(default_factory=set)
    pending: list[int] = field(default_factory=list)
    instructions: set[int] = field(default_factory=set)
    ends: set[End] = field(default_factory=set)
    blocks: set[int] = field(default_factory=set)

    def add(self, value: int | None) -> None:
        if value is not None and value not in self.seen:
            self.seen.add(value)
            self.pending.append(value)


class Slices:
    """Backward slices of one kernel; each is made once."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.ssa: SSA = kernel.fact("ssa")
        self._control: Control = kernel.fact("control")
        self._flow: MemoryFlow = kernel.fact("memory_flow")
        addresses: Addresses = kernel.fact("addresses")
        self._reads = {a.instruction: a.operand for a in addresses if a.access in ("load", "atomic", "both")}
        self._atomic = {a.instruction for a in addresses if a.access in ("atomic", "both")}
        self._known: dict[tuple[int, int, bool, bool], Slice] = {}
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
            work.add(value)
            self._known[key] = self._run(work, max)
        return self._known[key]

    def of_instruction(
        self, index: int, *, max: int = MOST_VALUES, control: bool = True, address: bool = False
    ) -> Slice:
        """The slice of everything that an instruction reads: for a store, of what it stores."""
        work = _Work(control, address)
        self._uses(work, index, data_only=True)
        self._deciders(work, int(self._control.blocks.of[index]))
        if control:
            work.add(self.ssa.guard(index))
        return self._run(work, max)

    def _run(self, work: _Work, most: int) -> Slice:
        incomplete = self._missing
        done = 0
        while work.pending:
            if done >= most:
                incomplete = f"more than {most} values"
                break
            done += 1
            self._visit(work, work.pending.pop())
        return Slice(frozenset(work.instructions), tuple(sorted(work.ends)), incomplete)

    def _visit(self, work: _Work, value: int) -> None:
        ssa = self.ssa
        index = ssa.instruction[value]
        match ssa.kind[value]:
            case ValueKind.ENTRY:
                work.ends.add(End(ENTRY, -1, str(ssa.register[value])))
            case ValueKind.CALL:
                name, form = self._routine(index), self._form(index)
                if not form.shape.known:
                    work.ends.add(End(UNKNOWN, index, f"{form.opcode} is not in the tables"))
                elif name:
                    work.instructions.add(index)
                    work.ends.add(End(ROUTINE, index, name))
                else:
                    work.ends.add(End(CALL, index, "what a call, or a store that may, left behind"))
            case ValueKind.PHI:
                for source in ssa.inputs[value]:
                    work.add(source)
                for block in self._control.blocks.predecessors[ssa.block[value]]:
                    self._deciders(work, block)
                    self._branch(work, block)
            case ValueKind.PSI:
                for source in ssa.inputs[value]:
                    work.add(source)
                if work.control:
                    work.add(ssa.guard(index))
            case ValueKind.DEF:
                self._defined(work, value, index)

    def _defined(self, work: _Work, value: int, index: int) -> None:
        work.instructions.add(index)
        self._deciders(work, self.ssa.block[value])
        form = self._form(index)
        if self.ssa.register[value].file == "L":
            self._stored_in_slot(work, value, index)
        elif (place := constant_read(form)) is not None:
            work.ends.add(End(CONSTANT, index, _place(place[0], place[1] + 4 * self.ssa.unit[value])))
        elif index in self._reads:
            self._loaded(work, value, index)
        elif not form.shape.known:
            work.ends.add(End(UNKNOWN, index, f"{form.opcode} is not in the tables"))
        else:
            special = next((t.detail for t in templates(form) if t.operation == "special"), "")
            if special:
                work.ends.add(End(SPECIAL, index, special))
            self._uses(work, index)
        if work.control:
            work.add(self.ssa.guard(index))

    def _stored_in_slot(self, work: _Work, value: int, index: int) -> None:
        """A word of the stack frame: what was stored there."""
        operand = self.ssa.operand[value]
        if operand < 0:
            work.ends.add(End(UNKNOWN, index, "a part of a word on the stack"))
        else:
            work.add(self.ssa.use(index, operand, self.ssa.unit[value]))

    def _loaded(self, work: _Work, value: int, index: int) -> None:
        slot = self.ssa.slot_use(index, self.ssa.unit[value]) if index in self.ssa.slots else None
        edge = self._flow.source(index)
        if slot is not None:
            work.add(slot)
            return
        if edge is not None:
            work.instructions.add(edge.store)
            self._deciders(work, int(self._control.blocks.of[edge.store]))
            self._uses(work, edge.store, data_only=True)
        else:
            work.ends.add(End(ATOMIC if index in self._atomic else LOAD, index))
        if work.address:
            self._address(work, index)

    def _address(self, work: _Work, index: int) -> None:
        place = self._reads[index]
        for source in self.ssa.address_uses(index, place):
            work.add(source)

    def _uses(self, work: _Work, index: int, *, data_only: bool = False) -> None:
        """Everything that an instruction reads but its guard; of a store only what it stores."""
        operands = self._form(index).operands
        for operand in operands:
            if isinstance(operand, ConstantOperand):
                found = place_of(operand)
                if found is not None:
                    work.ends.add(End(CONSTANT, index, _place(*found)))
        wanted = {p for p, o in enumerate(operands) if o.role == _STORED} if data_only else None
        for operand_place, unit, source in self.ssa.uses_of(index):
            if (operand_place, unit) != GUARD and (wanted is None or operand_place in wanted):
                work.add(source)

    def _deciders(self, work: _Work, block: int) -> None:
        """The branches that decide whether a block runs; theirs follow with what they read."""
        if not work.control or block in work.blocks:
            return
        pending = [block]
        while pending:
            here = pending.pop()
            if here in work.blocks:
                continue
            work.blocks.add(here)
            for branch in self._control.branches(here):
                self._take(work, branch)
                pending.append(int(self._control.blocks.of[branch]))

    def _branch(self, work: _Work, block: int) -> None:
        """The branch at the end of a block, where it chooses between ways."""
        if work.control and len(self._control.blocks.successors[block]) > 1:
            self._take(work, int(self._control.blocks.end[block]) - 1)

    def _take(self, work: _Work, branch: int) -> None:
        if branch not in work.instructions:
            work.instructions.add(branch)
            for _, _, source in self.ssa.uses_of(branch):
                work.add(source)

    def _routine(self, index: int) -> str:
        """Which of the compiler's arithmetic routines a call calls; empty for any other."""
        if self._routines is None:
            blocks, functions = self._control.blocks, self.kernel.functions
            self._routines = {}
            for call in blocks.calls:
                number = -1 if call.entry is None else blocks.function[call.entry]
                name = routine(call.symbol if number < 0 else functions[number].name)
                self._routines[call.index] = "" if name == SHUFFLE else name
        return self._routines.get(index, "")

    def _form(self, index: int) -> Form:
        return self.kernel.forms[int(self.kernel.form_ids[index])]


def _place(bank: int, offset: int) -> str:
    return f"c[{bank:#x}][{offset:#x}]"


@provides("slices")
def slices(kernel: Kernel) -> Slices:
    """Makes backward slices of a kernel's values."""
    return Slices(kernel)
