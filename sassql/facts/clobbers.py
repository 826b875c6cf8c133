"""Fact "clobbers": the registers that each call may write, as masks.

A function in the section of its caller writes what the instructions that it reaches write,
its own calls included. A function elsewhere, or one called through a register, may write
what the calling convention lets it write. R1 is in neither: callees restore the stack
pointer. A register that a callee saves and restores counts as written all the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from sassql.facts.accesses import CLOBBERED_BY_CALLS, Accesses, number_of
from sassql.facts.blocks import Blocks, mark
from sassql.model.kernel import Kernel, provides
from sassql.model.register import register

STACK_POINTER = number_of(register("R", 1))


@provides("clobbers")
def clobbers(kernel: Kernel) -> Mapping[int, int]:
    """By instruction number of a call, the mask of registers that it may write."""
    blocks: Blocks = kernel.fact("blocks")
    if not blocks.calls:
        return {}
    entries = sorted({call.entry for call in blocks.calls if call.entry is not None})
    inside = {entry: _blocks_of(entry, blocks) for entry in entries}
    calls: dict[int, list[int | None]] = {}
    for call in blocks.calls:
        calls.setdefault(int(blocks.of[call.index]), []).append(call.entry)
    written = {entry: _written(kernel, blocks, inside[entry]) for entry in entries}
    called = {entry: {c for block in inside[entry] for c in calls.get(block, ())} for entry in entries}
    total = {entry: _with_callees(entry, written, called) & ~(1 << STACK_POINTER) for entry in entries}
    return {c.index: CLOBBERED_BY_CALLS if c.entry is None else total[c.entry] for c in blocks.calls}


def _blocks_of(entry: int, blocks: Blocks) -> list[int]:
    seen = [False] * len(blocks)
    mark(entry, blocks.successors, seen)
    return [block for block, flag in enumerate(seen) if flag]


def _written(kernel: Kernel, blocks: Blocks, inside: list[int]) -> int:
    accesses: Accesses = kernel.fact("accesses")
    mask = 0
    for block in inside:
        for access in accesses.of[blocks.start[block] : blocks.end[block]]:
            mask |= access.def_mask
    return mask


def _with_callees(entry: int, written: Mapping[int, int], called: Mapping[int, set[int | None]]) -> int:
    """What a function writes itself and through the functions that it calls, itself again among them."""
    mask, seen, pending = 0, {entry}, [entry]
    while pending:
        function = pending.pop()
        mask |= written[function]
        for callee in called[function]:
            if callee is None:
                mask |= CLOBBERED_BY_CALLS
            elif callee not in seen:
                seen.add(callee)
                pending.append(callee)
    return mask
