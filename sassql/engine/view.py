"""One kernel as a motif sees it: its nodes, the places where each line may lie, its facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sassql.engine.bindings import Bindings, Matched
from sassql.engine.carries import Carries
from sassql.engine.lines import Candidate
from sassql.engine.operations import LongerForms
from sassql.engine.opsets import operation_of
from sassql.engine.plan import Conjunction, LineAtom, MotifPlan, Slot, SlotKind
from sassql.engine.reach import Reach
from sassql.engine.session import session
from sassql.engine.values import Unit, Units, Values
from sassql.engine.ways import Position, Ways
from sassql.facts.addresses import Address, Addresses
from sassql.facts.dominators import Dominators
from sassql.facts.loops import Loops
from sassql.facts.meanings import Meanings
from sassql.facts.slices import Slices
from sassql.facts.values import SSA
from sassql.isa import classes
from sassql.isa.constant_reads import constant_read
from sassql.isa.copying import copy_of
from sassql.isa.flow import FlowKind, flow_of
from sassql.isa.meanings import templates
from sassql.model.form import Form
from sassql.model.kernel import Kernel

_UNKNOWN_COUNT = 30


class View:
    """A kernel for one motif."""

    kernel: Kernel

    def __init__(self, kernel: Kernel, everything: bool) -> None:
        self.kernel = kernel
        self.restricted: dict[int, Mapping[Candidate, object]] = {}
        """By line (its `id`) the candidates that are left, where others cannot lead anywhere."""
        self.session = session(kernel, everything)
        """What all motifs share."""
        self._operations: dict[int, bool] = {}
        self.count_used: Callable[[MotifPlan], int] = lambda plan: _UNKNOWN_COUNT
        """How many rows a motif has that another one uses: told by who searches."""

    @property
    def values(self) -> Values:
        return self.session.values

    @property
    def reach(self) -> Reach:
        return self.session.reach

    @property
    def ways(self) -> Ways:
        return self.session.ways

    @property
    def carries(self) -> Carries:
        return self.session.carries

    @property
    def loops(self) -> Loops:
        found: Loops = self.kernel.fact("loops")
        return found

    @property
    def slices(self) -> Slices:
        found: Slices = self.kernel.fact("slices")
        return found

    @property
    def longer(self) -> LongerForms:
        return self.session.longer

    @property
    def nodes(self) -> npt.NDArray[np.bool_]:
        return self.session.nodes

    def excludes(self, conjunction: Conjunction) -> bool:
        """True where a conjunction needs a line that can lie nowhere."""
        return not self.session.lines.possible(conjunction.matchers)

    def candidates(self, line: LineAtom) -> tuple[Candidate, ...]:
        """Everywhere that ``line`` may lie, in address order, names aside."""
        known = self.restricted.get(id(line)) if self.restricted else None
        return self.session.lines.candidates(line.matcher) if known is None else tuple(known)

    def lay(self, line: LineAtom, candidate: Candidate, bindings: Bindings) -> Bindings | None:
        """``bindings`` with ``line`` on ``candidate``, or None where names, numbers or labels disagree."""
        index, fit = candidate.index, candidate.fit
        if bindings.uses_instruction(index):
            return None
        laid = bindings
        for slot in line.slots:
            extended = self.compare(slot, candidate, laid)
            if extended is None:
                return None
            laid = extended
        return laid.with_label(line.label, (Matched(index, fit.operation, fit.choices),))

    def compare(self, slot: Slot, candidate: Candidate, bindings: Bindings) -> Bindings | None:
        """``bindings`` with what stands in one slot, or None where it is something else."""
        match slot.kind:
            case SlotKind.INTEGER:
                number = self.integer(slot, candidate)
                return None if number is None else bindings.with_integer(slot.key, number)
            case SlotKind.NUMBER:
                return bindings if self._is_number(slot, candidate) else None
            case SlotKind.ADDRESS:
                address = self.address(slot, candidate)
                return None if address is None else bindings.with_address(slot.key, address)
            case _:
                units = self.units(slot, candidate)
                return None if units is None else bindings.with_value(slot.key, units)

    def units(self, slot: Slot, candidate: Candidate) -> Units | None:
        """The value that stands in a slot of a line; None for none."""
        if slot.kind is SlotKind.GUARD:
            return self.values.guard(candidate.index)
        if candidate.parts:
            return candidate.parts[slot.position].units
        place = candidate.fit.places[slot.position]
        if slot.kind is SlotKind.TERM:
            return self.values.address_term(candidate.index, place, slot.term)
        return self.values.units(candidate.index, place)

    def integer(self, slot: Slot, candidate: Candidate) -> int | None:
        """The number that stands in a slot; None for none that is known."""
        if candidate.parts:
            return candidate.parts[slot.position].integer
        return self.values.integer(candidate.index, candidate.fit.places[slot.position])

    def _is_number(self, slot: Slot, candidate: Candidate) -> bool:
        if candidate.parts:
            return candidate.parts[slot.position].integer == slot.number
        return self.values.is_number(candidate.index, candidate.fit.places[slot.position], slot.number)

    def address(self, slot: Slot, candidate: Candidate) -> Address | None:
        """The address that stands in a slot; None for none that is known."""
        if candidate.parts:
            return None
        addresses: Addresses = self.kernel.fact("addresses")
        return addresses.of(candidate.index, candidate.fit.places[slot.position])

    def read_as(self, line: LineAtom, key: str) -> frozenset[Unit]:
        """Every value that stands where a line names ``key``."""
        slots = [slot for slot in line.slots if slot.key == key and slot.kind is SlotKind.VALUE]
        everywhere = self.session.lines.candidates(line.matcher)
        found = (self.units(slot, candidate) for slot in slots for candidate in everywhere)
        return frozenset(unit for units in found if units is not None for unit in units)

    def lies_in(self, index: int, loop: int) -> bool:
        """True where an instruction lies in a loop, at any depth."""
        return loop in self.loops.enclosing(int(self.ways.blocks.of[index]))

    def is_nested(self, loop: int, parent: int) -> bool:
        """True where a loop lies in another one."""
        above = self.loops[loop].parent
        while above not in (parent, -1):
            above = self.loops[above].parent
        return above == parent

    def made_at(self, unit: int) -> Position:
        """Where a value begins to exist: at its instruction, or before the first one of its block."""
        ssa: SSA = self.kernel.fact("ssa")
        index, block = ssa.instruction[unit], ssa.block[unit]
        return Position(block, index if index >= 0 else int(self.ways.blocks.start[block]) - 0.5)

    def rank(self, unit: Unit) -> tuple[int, int]:
        """Where a value stands in dominance order."""
        return self.reach.rank(unit, self._block_order)

    @cached_property
    def _block_order(self) -> dict[int, int]:
        tree: Dominators = self.kernel.fact("dominators")
        return {block: place for place, block in enumerate(tree.order)}

    def runs_with(self, index: int, *others: int) -> bool:
        """True where an instruction has no guard, or that of one of ``others``."""
        guard = self.form(index).guard
        if guard is None:
            return True
        mine = (self.values.guard(index), guard.inverted)
        for other in others:
            theirs = self.form(other).guard
            if theirs is not None and (self.values.guard(other), theirs.inverted) == mine:
                return True
        return False

    def is_operation(self, index: int) -> bool:
        """True for what computes something: no load, no constant, no copy, no branch."""
        row = int(self.kernel.form_ids[index])
        if row not in self._operations:
            form = self.kernel.forms[row]
            idle = (
                classes.belongs("load", form.opcode, form.modifiers, form.operands)
                or constant_read(form) is not None
                or copy_of(form) is not None
                or any(t.operation == "special" for t in templates(form))
                or flow_of(form).kind is not FlowKind.NONE
            )
            self._operations[row] = not idle
        return self._operations[row] and bool(self.nodes[index])

    def form(self, index: int) -> Form:
        """The form of an instruction."""
        return self.kernel.forms[int(self.kernel.form_ids[index])]

    def every_of_class(self, name: str) -> list[Matched]:
        """All nodes of a class."""
        rows = {
            row: operation_of(form)
            for row in self.session.rows
            if classes.belongs(name, (form := self.kernel.forms[row]).opcode, form.modifiers, form.operands)
        }
        ids = self.kernel.form_ids
        places = np.flatnonzero(np.isin(ids, list(rows)) & self.nodes).tolist() if rows else []
        return [Matched(index, rows[int(ids[index])], ()) for index in places]

    def operation_at(self, index: int, unit: int) -> str:
        """What ``x.op`` says of the instruction that makes a value: of a longer form, that."""
        return self.longer_at(unit) or operation_of(self.form(index))

    def longer_at(self, unit: int) -> str:
        """The operation of several instructions whose result a value is, or an empty string."""
        meanings: Meanings = self.kernel.fact("meanings")
        longer = meanings.longer.get(unit)
        return f"<{longer.operation}>" if longer is not None and len(longer.covers) > 1 else ""

    def barrier_of(self, index: int) -> Address | None:
        """The barrier on which an asynchronous copy completes, where that is known."""
        return None
