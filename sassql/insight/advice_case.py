"""What the rules look at: one kernel, its walks, the flow between them, and how much room is left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

from sassql.facts.addresses import Address, Addresses, Base
from sassql.facts.memory_flow import MemoryEdge, MemoryFlow
from sassql.facts.polynomials import Polynomial, mentioned
from sassql.insight.advice_amounts import Amount, axes_used, per_block, per_thread
from sassql.insight.advice_conditions import is_of_thread
from sassql.insight.advice_evaluate import Figures
from sassql.insight.advice_motifs import Motifs
from sassql.insight.advice_records import Effect
from sassql.insight.advice_walks import Walk, Walks
from sassql.isa.promises import READ_ONLY, WATCHED, promises_of
from sassql.isa.spaces import Space
from sassql.model.kernel import Kernel

_WRITES = ("store", "atomic", "both")
MOST_PLACES = 64
"""Addresses that a finding lists."""


class Case:
    """One kernel under advice."""

    def __init__(self, kernel: Kernel, figures: Iterable[Figures] = ()) -> None:
        self.kernel = kernel
        self.figures = tuple(figures)
        self.walks = Walks(kernel)
        self.flow: MemoryFlow = kernel.fact("memory_flow")
        self.used = axes_used(kernel)
        self._forward: dict[int, set[int]] = {}

    @property
    def block(self) -> int | None:
        """Threads of a block, where a launch description says it."""
        return self.figures[0].threads if self.figures else None

    @cached_property
    def motifs(self) -> Motifs:
        return Motifs(self.kernel)

    @cached_property
    def global_stores(self) -> list[Walk]:
        return self.walks.of("store", Space.GLOBAL)

    @cached_property
    def global_loads(self) -> list[Walk]:
        return self.walks.of("load", Space.GLOBAL)

    def addresses(self, instructions: Iterable[int]) -> tuple[int, ...]:
        """Addresses of instructions, ascending."""
        found = sorted({int(self.kernel.addresses[i]) for i in instructions})
        return tuple(found[:MOST_PLACES])

    def edges(self, store: Walk, load: Walk) -> list[MemoryEdge]:
        """What memory flow knows between the members of two walks."""
        wanted = set(load.at)
        return [e for index in store.at for e in self.flow.out_of(index) if e.load in wanted]

    def reaches(self, first: Walk, second: Walk) -> bool:
        """True where some access of the second may come after one of the first."""
        return any(self.flow.orders.reaches(a, b) for a in first.at for b in second.at)

    def precedes(self, first: Walk, second: Walk) -> bool:
        """True where some access of the second may come after one of the first, in one iteration."""
        return any(self.comes_before(a, b) for a in first.members for b in second.members)

    def comes_before(self, first: Address, second: Address) -> bool:
        """The same for two accesses: no loop around both has to go round again in between."""
        here = first.block == second.block and first.instruction < second.instruction
        return here or second.block in self._ahead(first.block)

    def _ahead(self, block: int) -> set[int]:
        """Blocks that a way without a next iteration leads to."""
        if block not in self._forward:
            families = self.walks.families
            back = {(latch, loop.header) for loop in families.loops.loops for latch in loop.latches}
            seen: set[int] = set()
            pending = [block]
            while pending:
                here = pending.pop()
                for target in families.control.blocks.successors[here]:
                    if target not in seen and (here, target) not in back:
                        seen.add(target)
                        pending.append(target)
            self._forward[block] = seen
        return self._forward[block]

    def promised(self, walk: Walk, promise: str) -> bool:
        """True where all (read-only) or any (watched) accesses carry a promise."""
        forms = self.walks.families.control.forms
        found = [promise in promises_of(forms.of[index]) for index in walk.at]
        return all(found) if promise == READ_ONLY else any(found)

    def watched(self, *walks: Walk) -> bool:
        """True where an access is volatile."""
        return any(self.promised(walk, WATCHED) for walk in walks)

    def between(self, first: Walk, second: Walk) -> list[str]:
        """Other buffers that are written on a way from one walk to another, by name."""
        found = set()
        for base, written in self._written.items():
            if base != first.base and any(self._lies_between(first, index, second) for index in written):
                found.add(str(base) if base.kind != "none" else "another buffer")
        return sorted(found)

    def _lies_between(self, first: Walk, index: int, second: Walk) -> bool:
        orders = self.flow.orders
        return any(orders.reaches(a, index) for a in first.at) and any(
            orders.reaches(index, b) for b in second.at
        )

    @cached_property
    def _written(self) -> dict[Base, list[int]]:
        """Stores and atomics to global memory, by buffer."""
        addresses: Addresses = self.kernel.fact("addresses")
        found: dict[Base, list[int]] = defaultdict(list)
        for address in addresses:
            if address.space in (Space.GLOBAL, Space.GENERIC) and address.access in _WRITES:
                found[address.base].append(address.instruction)
        return found

    def in_turn(self, walks: Iterable[Walk]) -> list[Walk]:
        """Walks that come one after the other: of those that exclude each other one, on what all need."""
        turns: list[Walk] = []
        for walk in walks:
            if not turns or self.precedes(turns[-1], walk):
                turns.append(walk)
                continue
            one, two = turns[-1].extent, walk.extent
            common = tuple(c for c in one.conditions if c in two.conditions)
            extent = replace(one, conditions=common, limit=one.limit or two.limit)
            turns[-1] = replace(turns[-1], extent=extent)
        return turns

    def effect(self, unit: str, amount: Amount, parts: dict[str, Amount] | None = None) -> Effect:
        """An amount as an effect, with its numbers."""
        values = tuple((figures.shape, amount.number(figures)) for figures in self.figures)
        return Effect(
            unit,
            amount.text(self.used),
            amount.is_limit,
            amount.unknown,
            {name: part.text(self.used) for name, part in (parts or {}).items()},
            values,
        )

    def kept(self, walk: Walk) -> tuple[str, str]:
        """Values that a thread goes through in a walk, and bytes that a block does: formulas."""
        return per_thread(walk.extent, walk.width), per_block(walk.extent)


def block_part(polynomial: Polynomial) -> Polynomial:
    """The terms with a block number."""
    return Polynomial(
        tuple(
            (m, c)
            for m, c in polynomial.terms
            if any(is_of_thread(a) and a.name.startswith("ctaid") for atom in m for a in (atom, *atom.inside))
        )
    )


def thread_atoms(polynomial: Polynomial) -> frozenset[str]:
    """The thread numbers in a sum, as text; a quotient or remainder of one counts as one of its own."""
    found = set()
    for monomial, _ in polynomial.terms:
        for atom in monomial:
            mine = any(a.name.startswith(("tid", "laneid")) for a in mentioned(Polynomial.of(atom)))
            if mine:
                found.add(str(atom))
    return frozenset(found)
