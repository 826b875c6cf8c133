"""Whether one value becomes another one: backwards over data, bounded, remembered.

Copies are no steps, since a value is its copy class. φ, ψ and selects are passed for nothing; an
instruction that the flow may pass costs one. Addresses of loads are no data. Where a search
meets what a call leaves behind, absence is no proof.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from functools import cached_property

from sassql.engine.plan import Through
from sassql.engine.values import Unit, Values
from sassql.facts.blocks import Blocks
from sassql.facts.loops import Loops
from sassql.facts.stale import seen_inputs
from sassql.facts.values import GUARD, SSA, ValueKind
from sassql.isa import classes
from sassql.isa.sequences import routine
from sassql.model.form import Form
from sassql.model.kernel import Kernel
from sassql.model.operands import ConstantOperand, MemoryOperand

Key = tuple[object, ...]
FREE = "select"
"""The class of instructions that every flow passes."""


class Reached:
    """What a value may come from: the number of instructions passed by unit, and whether that is all."""

    __slots__ = ("complete", "cost")

    def __init__(self, cost: Mapping[Unit, int], complete: bool) -> None:
        self.cost = cost
        self.complete = complete


class Reach:
    """Flows in one kernel."""

    def __init__(self, kernel: Kernel, values: Values) -> None:
        self._kernel = kernel
        self._ssa: SSA = kernel.fact("ssa")
        self._values = values
        self._known: dict[Key, Reached] = {}
        self._sources: dict[int, tuple[Unit, ...]] = {}
        self._passes: dict[tuple[Through, int], bool] = {}
        self._free: dict[int, bool] = {}

    def back_from(self, unit: Unit, through: Through, headers: frozenset[int], remember: bool) -> Reached:
        """Everything that flows into ``unit``; φ of the blocks ``headers`` are not crossed."""
        key = (unit, through, headers)
        found = self._known.get(key) if remember else None
        if found is None:
            found = self._search(unit, through, headers)
            if remember:
                self._known[key] = found
        return found

    def _search(self, unit: Unit, through: Through, headers: frozenset[int]) -> Reached:
        cost: dict[Unit, int] = {unit: 0}
        pending: deque[Unit] = deque([unit])
        complete = True
        done: set[Unit] = set()
        while pending:
            here = pending.popleft()
            if here in done:
                continue
            done.add(here)
            if not isinstance(here, int):
                continue
            step, sources = self._behind(here, through, headers)
            if sources is None:
                complete = False
                continue
            if cost[here] + step > through.most:
                continue
            for source in sources:
                passed = cost[here] + step
                if passed < cost.get(source, through.most + 1):
                    cost[source] = passed
                    if step:
                        pending.append(source)
                    else:
                        pending.appendleft(source)
        return Reached(cost, complete)

    def _behind(
        self, value: int, through: Through, headers: frozenset[int]
    ) -> tuple[int, tuple[Unit, ...] | None]:
        """(cost, what flows into a value directly); None where nobody knows."""
        match self._ssa.kind[value]:
            case ValueKind.PHI:
                if self._ssa.block[value] in headers:
                    return 0, ()
                return 0, tuple(self._values.unit_of(v) for v in seen_inputs(self._kernel, value))
            case ValueKind.PSI:
                guard = self._ssa.guard(self._ssa.instruction[value])
                found = [*seen_inputs(self._kernel, value), *([] if guard is None else [guard])]
                return 0, tuple(self._values.unit_of(v) for v in found)
            case ValueKind.CALL:
                return 0, () if self._ssa.instruction[value] in self._routines else None
            case ValueKind.DEF:
                index = self._ssa.instruction[value]
                row = int(self._kernel.form_ids[index])
                form = self._kernel.forms[row]
                if not form.shape.known:
                    return 0, None
                if self._is_free(row, form):
                    return 0, self._data(index, form)
                if through.anything or self._may_pass(row, form, through):
                    return 1, self._data(index, form)
        return 0, ()

    def _is_free(self, row: int, form: Form) -> bool:
        if row not in self._free:
            self._free[row] = classes.belongs(FREE, form.opcode, form.modifiers, form.operands)
        return self._free[row]

    def _may_pass(self, row: int, form: Form, through: Through) -> bool:
        key = (through, row)
        if key not in self._passes:
            self._passes[key] = any(alternative.fits(form) for alternative in through.alternatives)
        return self._passes[key]

    def _data(self, index: int, form: Form) -> tuple[Unit, ...]:
        """What an instruction computes with: registers and constants, no guard, no address, no number."""
        if index not in self._sources:
            found = []
            for place, unit, value in self._ssa.uses_of(index):
                if (
                    (place, unit) != GUARD
                    and place >= 0
                    and not isinstance(form.operands[place], MemoryOperand)
                ):
                    found.append(self._values.unit_of(value))
            for place, operand in enumerate(form.operands):
                if isinstance(operand, ConstantOperand):
                    found += [u for u in self._values.units(index, place) or () if isinstance(u, tuple)]
            self._sources[index] = tuple(dict.fromkeys(found))
        return self._sources[index]

    @cached_property
    def _routines(self) -> frozenset[int]:
        """Calls of the compiler's own arithmetic: they leave nothing unknown behind."""
        blocks: Blocks = self._kernel.fact("blocks")
        functions = self._kernel.functions
        found = set()
        for call in blocks.calls:
            number = -1 if call.entry is None else blocks.function[call.entry]
            if routine(call.symbol if number < 0 else functions[number].name):
                found.add(call.index)
        return frozenset(found)

    def all_units(self) -> Iterator[Unit]:
        """Every value of the kernel."""
        seen = dict.fromkeys(self._values.unit_of(v) for v in range(len(self._ssa)))
        yield from seen

    def rank(self, unit: Unit, order: Mapping[int, int]) -> tuple[int, int]:
        """Where a value begins to exist, in dominance order; ``order`` numbers the blocks."""
        if not isinstance(unit, int):
            return -1, -1
        return order[self._ssa.block[unit]], self._ssa.instruction[unit]

    def file_of(self, unit: Unit) -> str:
        """The register file of a value; a constant is one of R."""
        return self._ssa.register[unit].file if isinstance(unit, int) else "R"


def headers_of(loops: Loops, numbers: Iterator[int]) -> frozenset[int]:
    """The header blocks of loops."""
    return frozenset(loops[number].header for number in numbers)
