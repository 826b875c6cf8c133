"""Builds SSA form: φ where values meet and are still read, then one walk down the dominator tree.

Cytron et al. with liveness as the filter ("pruned"). All registers are handled at once, as
bits of a mask; values of function entries and calls are made when somebody reads them, so
that a call that may write two hundred registers costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sassql.facts.accesses import Access
from sassql.facts.blocks import Blocks
from sassql.facts.dominators import Dominators, frontiers
from sassql.facts.liveness import Liveness
from sassql.facts.values import SSA, ValueKind
from sassql.model.register import Register

_ENTER, _LEAVE = True, False


def bits(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def place_phis(blocks: Blocks, tree: Dominators, live: Liveness) -> list[int]:
    """By block, the mask of registers that need a φ at its start."""
    frontier = frontiers(tree, blocks.roots, blocks.predecessors)
    phis = [0] * len(blocks)
    for block in _shared(blocks, tree):
        phis[block] = live.live_in[block]
    pending = [block for block, mask in enumerate(live.defined) if mask or phis[block]]
    while pending:
        block = pending.pop()
        mask = live.defined[block] | phis[block]
        for join in frontier[block]:
            new = mask & live.live_in[join] & ~phis[join]
            if new:
                phis[join] |= new
                pending.append(join)
    return phis


def _shared(blocks: Blocks, tree: Dominators) -> set[int]:
    """Blocks that several functions, or unreachable regions, run into: each brings its own registers."""
    roots = set(blocks.roots)
    return {
        block
        for block in tree.roots
        if block not in roots or not all(tree.dominates(block, p) for p in blocks.predecessors[block])
    }


class Renamer:
    """One walk over a kernel; ``items`` are (instruction, access) by block, in order.

    Reads go to ``read`` and first definitions to ``first``, by instruction; values are appended to ``ssa``.
    """

    def __init__(
        self,
        ssa: SSA,
        blocks: Blocks,
        tree: Dominators,
        registers: Sequence[Register],
        clobbers: Mapping[int, int],
        read: dict[int, Sequence[int]] | list[Sequence[int]],
        first: dict[int, int] | list[int],
    ) -> None:
        self.ssa, self.blocks, self.tree = ssa, blocks, tree
        self.registers, self.clobbers = registers, clobbers
        self._from_outside = frozenset(blocks.roots)
        self.read, self.first = read, first
        self._current = [0] * len(registers)
        """By register its value, or ~n for the register's value at origin n, not made yet."""
        self._origins: list[tuple[ValueKind, int, int]] = []
        self._made: dict[tuple[int, int], int] = {}
        self._phis: list[dict[int, int]] = []
        self._inputs: dict[int, list[int]] = {}
        self._undo: list[tuple[int, int]] = []

    def run(self, phis: Sequence[int], items: Mapping[int, Iterable[tuple[int, Access]]]) -> None:
        """Name every read and definition; ``phis`` is a mask by block."""
        self._make_phis(phis)
        pending = [(root, _ENTER, 0) for root in reversed(self.tree.roots)]
        roots = set(self.tree.roots)
        while pending:
            block, step, depth = pending.pop()
            if step is _LEAVE:
                self._restore(depth)
                continue
            if block in roots:
                self._begin(block)
            pending.append((block, _LEAVE, len(self._undo)))
            self._enter(block)
            self._rename(block, items.get(block, ()))
            self._feed_phis(block)
            pending.extend((child, _ENTER, 0) for child in reversed(self.tree.children[block]))
        for value, inputs in self._inputs.items():
            self.ssa.inputs[value] = tuple(inputs)

    def _rename(self, block: int, items: Iterable[tuple[int, Access]]) -> None:
        """The instructions of one block: everything here runs once per instruction."""
        current, registers, clobbers = self._current, self.registers, self.clobbers
        read, first, undo = self.read, self.first, self._undo
        ssa = self.ssa
        kinds, held, instructions = ssa.kind, ssa.register, ssa.instruction
        operands, units, inputs, blocks = ssa.operand, ssa.unit, ssa.inputs, ssa.block
        defined = ValueKind.DEF
        for index, access in items:
            if access.uses:
                found = [current[number] for number in access.uses]
                if min(found) < 0:
                    found = [self._value(number) for number in access.uses]
                read[index] = found
            if access.guarded and access.defs:
                self._define_guarded(index, access, block)
            elif access.defs:
                value = first[index] = len(kinds)
                for number, (operand, unit) in zip(access.defs, access.def_keys, strict=True):
                    kinds.append(defined)
                    held.append(registers[number])
                    instructions.append(index)
                    operands.append(operand)
                    units.append(unit)
                    inputs.append(())
                    blocks.append(block)
                    undo.append((number, current[number]))
                    current[number] = value
                    value += 1
            if clobbers and index in clobbers:
                self._clobber(index, block)

    def _make_phis(self, phis: Sequence[int]) -> None:
        for block, mask in enumerate(phis):
            made = {}
            for number in bits(mask):
                made[number] = self._add(ValueKind.PHI, number, -1, block)
                width = len(self.blocks.predecessors[block]) + (block in self._from_outside)
                self._inputs[made[number]] = [-1] * width
            self._phis.append(made)

    def _add(self, kind: ValueKind, number: int, instruction: int, block: int) -> int:
        ssa = self.ssa
        ssa.kind.append(kind)
        ssa.register.append(self.registers[number])
        ssa.instruction.append(instruction)
        ssa.operand.append(-1)
        ssa.unit.append(0)
        ssa.inputs.append(())
        ssa.block.append(block)
        return len(ssa.kind) - 1

    def _begin(self, root: int) -> None:
        """Nothing is known at the start of a function."""
        self._origins.append((ValueKind.ENTRY, -1, root))
        origin = ~(len(self._origins) - 1)
        self._current = [origin] * len(self.registers)
        if root in self._from_outside:
            for number, value in self._phis[root].items():
                self._inputs[value][-1] = self._value(number)

    def _enter(self, block: int) -> None:
        current = self._current
        for number, value in self._phis[block].items():
            self._undo.append((number, current[number]))
            current[number] = value

    def _restore(self, depth: int) -> None:
        current, undo = self._current, self._undo
        while len(undo) > depth:
            number, value = undo.pop()
            current[number] = value

    def _value(self, number: int) -> int:
        """The register's value; made now where it is the first read since its origin."""
        value = self._current[number]
        if value < 0:
            key = (~value, number)
            found = self._made.get(key)
            if found is None:
                kind, instruction, block = self._origins[key[0]]
                found = self._made[key] = self._add(kind, number, instruction, block)
            value = self._current[number] = found
        return value

    def _define_guarded(self, index: int, access: Access, block: int) -> None:
        """New values, and behind them one ψ for each."""
        ssa, current = self.ssa, self._current
        count = len(access.defs)
        old = [self._value(number) for number in access.defs]
        first = self.first[index] = len(ssa.kind)
        registers = [self.registers[number] for number in access.defs]
        ssa.kind += [ValueKind.DEF] * count + [ValueKind.PSI] * count
        ssa.register += registers * 2
        ssa.instruction += [index] * (count * 2)
        ssa.operand += [operand for operand, _ in access.def_keys] * 2
        ssa.unit += [unit for _, unit in access.def_keys] * 2
        ssa.inputs += [()] * count
        ssa.inputs += [(first + i, before) for i, before in enumerate(old)]
        ssa.block += [block] * (count * 2)
        first += count
        for place, number in enumerate(access.defs):
            self._undo.append((number, current[number]))
            current[number] = first + place

    def _clobber(self, index: int, block: int) -> None:
        self._origins.append((ValueKind.CALL, index, block))
        origin = ~(len(self._origins) - 1)
        current = self._current
        for number in bits(self.clobbers[index]):
            self._undo.append((number, current[number]))
            current[number] = origin

    def _feed_phis(self, block: int) -> None:
        """Hand the values at the end of ``block`` to the φ of its successors."""
        for target in self.blocks.successors[block]:
            made = self._phis[target]
            if not made or block not in self.blocks.predecessors[target]:
                continue
            place = self.blocks.predecessors[target].index(block)
            for number, value in made.items():
                self._inputs[value][place] = self._value(number)
