"""Fact "liveness": the registers whose value some later instruction may read, per block, as masks.

The old value of a guarded definition counts as read, since it lives on where the guard
does not hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sassql.facts.accesses import Access, Accesses
from sassql.facts.blocks import Blocks
from sassql.facts.dominators import reverse_postorder
from sassql.model.kernel import Kernel, provides


@dataclass(frozen=True, slots=True, eq=False)
class Liveness:
    """By block: ``live_in`` at its start, ``defined`` in it (perhaps under a guard, or by a call)."""

    live_in: Sequence[int]
    defined: Sequence[int]


@provides("liveness")
def liveness(kernel: Kernel) -> Liveness:
    """Live registers of a kernel."""
    accesses: Accesses = kernel.fact("accesses")
    return solve(kernel.fact("blocks"), enumerate(accesses.of), kernel.fact("clobbers"))


def solve(blocks: Blocks, accesses: Iterable[tuple[int, Access]], clobbers: Mapping[int, int]) -> Liveness:
    """Liveness of whatever ``accesses`` name; they come in the order of the instructions."""
    reads, kills, defined = _summaries(blocks, accesses, clobbers)
    order = reverse_postorder(blocks.roots, blocks.successors)
    live_in = list(reads)
    pending = set(order)
    while pending:  # usually twice round
        for block in reversed(order):
            if block not in pending:
                continue
            pending.discard(block)
            after = 0
            for target in blocks.successors[block]:
                after |= live_in[target]
            new = reads[block] | (after & ~kills[block])
            if new != live_in[block]:
                live_in[block] = new
                pending.update(blocks.predecessors[block])
    return Liveness(live_in, defined)


def _summaries(
    blocks: Blocks, accesses: Iterable[tuple[int, Access]], clobbers: Mapping[int, int]
) -> tuple[list[int], list[int], list[int]]:
    """By block: read before written, certainly written, perhaps written."""
    reads, kills, defined = ([0] * len(blocks) for _ in range(3))
    of = blocks.of.tolist()
    block, read, kill, define = -1, 0, 0, 0
    for index, access in accesses:
        if of[index] != block:
            if block >= 0:
                reads[block], kills[block], defined[block] = read, kill, define
            block = of[index]
            read, kill, define = reads[block], kills[block], defined[block]
        read |= access.use_mask & ~kill
        if access.def_mask:
            define |= access.def_mask
            if access.guarded:
                read |= access.def_mask & ~kill
            else:
                kill |= access.def_mask
        if index in clobbers:
            define |= clobbers[index]
            kill |= clobbers[index]
    if block >= 0:
        reads[block], kills[block], defined[block] = read, kill, define
    return reads, kills, defined
