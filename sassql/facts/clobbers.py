"""Fact "clobbers": the registers that calls and unknown instructions may write, as masks.

A function in the section of its caller writes what the instructions that it reaches write,
its own calls included. A function elsewhere, or one called through a register, may write
what the calling convention lets it write. R1 is in neither: callees restore the stack
pointer. A register that a callee saves and restores counts as written all the same.

An instruction that the tables do not know may write each register that it prints outside
of an address, and as its width is not known either, every register above it; each
predicate that it prints; and all predicates where it has a word that may stand for them.
What follows it then reads a value that nobody knows, never an older one.
"""

from __future__ import annotations

from collections.abc import Mapping

from sassql.facts.accesses import CLOBBERED_BY_CALLS, EVERYTHING, PREDICATES, Accesses, mask_from, number_of
from sassql.facts.blocks import Blocks, mark
from sassql.model.form import Form
from sassql.model.kernel import Kernel, provides
from sassql.model.operands import KeywordOperand, RegisterOperand
from sassql.model.register import register

STACK_POINTER = number_of(register("R", 1))


@provides("clobbers")
def clobbers(kernel: Kernel) -> Mapping[int, int]:
    """By number of a call or of an unknown instruction, the mask of registers that it may write."""
    blocks: Blocks = kernel.fact("blocks")
    accesses: Accesses = kernel.fact("accesses")
    unknown = {i: written_by_unknown(kernel.forms[int(kernel.form_ids[i])]) for i in accesses.incomplete}
    return unknown | (_by_calls(kernel, blocks, unknown) if blocks.calls else {})


def written_by_unknown(form: Form) -> int:
    """The mask of what an instruction may write that the tables do not know."""
    if form.guard is not None and form.guard.never:
        return 0
    if form.shape.problem:
        return EVERYTHING
    mask = 0
    for operand in form.operands:
        if isinstance(operand, RegisterOperand):
            mask |= mask_from(operand.file, operand.index)
        elif isinstance(operand, KeywordOperand):
            mask |= PREDICATES
    return mask


def _by_calls(kernel: Kernel, blocks: Blocks, unknown: Mapping[int, int]) -> dict[int, int]:
    entries = sorted({call.entry for call in blocks.calls if call.entry is not None})
    inside = {entry: _blocks_of(entry, blocks) for entry in entries}
    calls: dict[int, list[int | None]] = {}
    for call in blocks.calls:
        calls.setdefault(int(blocks.of[call.index]), []).append(call.entry)
    written = {entry: _written(kernel, blocks, inside[entry], unknown) for entry in entries}
    called = {entry: {c for block in inside[entry] for c in calls.get(block, ())} for entry in entries}
    total = {entry: _with_callees(entry, written, called) & ~(1 << STACK_POINTER) for entry in entries}
    return {c.index: CLOBBERED_BY_CALLS if c.entry is None else total[c.entry] for c in blocks.calls}


def _blocks_of(entry: int, blocks: Blocks) -> list[int]:
    seen = [False] * len(blocks)
    mark(entry, blocks.successors, seen)
    return [block for block, flag in enumerate(seen) if flag]


def _written(kernel: Kernel, blocks: Blocks, inside: list[int], unknown: Mapping[int, int]) -> int:
    accesses: Accesses = kernel.fact("accesses")
    mask = 0
    for block in inside:
        for access in accesses.of[blocks.start[block] : blocks.end[block]]:
            mask |= access.def_mask
    for index in unknown:
        mask |= unknown[index] if int(blocks.of[index]) in inside else 0
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
