"""Fact "ssa": every read of a register connected with the value that it reads.

Values are 32-bit units of the files R, UR, P and UP; spill slots of the stack frame are
values too (file ``L``), so that a loop variable that lives on the stack is a φ like any
other. Functions of one section have nothing to do with each other: what a caller passes is
an ENTRY value of the callee, what a callee may write is a CALL value of the caller.
"""

from __future__ import annotations

from sassql.facts.accesses import NOTHING, REGISTERS, Access, Accesses
from sassql.facts.blocks import Blocks
from sassql.facts.dominators import Dominators
from sassql.facts.liveness import Liveness, solve
from sassql.facts.renaming import Renamer, place_phis
from sassql.facts.spills import spill_slots
from sassql.facts.values import SSA, ValueKind
from sassql.model.kernel import Kernel, provides

__all__ = ["SSA", "ValueKind", "ssa"]


@provides("ssa")
def ssa(kernel: Kernel) -> SSA:
    """The values of a kernel: first those of registers, then those of spill slots."""
    made = SSA()
    accesses: Accesses = kernel.fact("accesses")
    made.accesses = accesses.of
    _add_registers(kernel, made)
    _add_slots(kernel, made)
    return made


def _add_registers(kernel: Kernel, made: SSA) -> None:
    blocks: Blocks = kernel.fact("blocks")
    live: Liveness = kernel.fact("liveness")
    tree: Dominators = kernel.fact("dominators")
    of = made.accesses
    starts, ends = blocks.start.tolist(), blocks.end.tolist()
    items = {
        block: list(enumerate(of[start:end], start))
        for block, (start, end) in enumerate(zip(starts, ends, strict=True))
    }
    used = 0
    for mask in live.live_in:
        used |= mask
    for access in of:
        used |= access.use_mask
    clobbers = {index: mask & used for index, mask in kernel.fact("clobbers").items()}
    made.read = [()] * len(of)
    made.first = [-1] * len(of)
    renamer = Renamer(made, blocks, tree, REGISTERS, clobbers, made.read, made.first)
    renamer.run(place_phis(blocks, tree, live), items)


def _add_slots(kernel: Kernel, made: SSA) -> None:
    """The same for spill slots, which need the value of the stack pointer to be told apart."""
    slots = spill_slots(kernel, made)
    if not slots.of:
        return
    blocks: Blocks = kernel.fact("blocks")
    tree: Dominators = kernel.fact("dominators")
    ordered = [(index, slots.of.get(index, NOTHING)) for index in sorted({*slots.of, *slots.clobbers})]
    live = solve(blocks, ordered, slots.clobbers)
    items: dict[int, list[tuple[int, Access]]] = {}
    for index, access in ordered:
        items.setdefault(int(blocks.of[index]), []).append((index, access))
    made.slots = slots.of
    renamer = Renamer(made, blocks, tree, slots.registers, slots.clobbers, made.slot_read, made.slot_first)
    renamer.run(place_phis(blocks, tree, live), items)
