"""Copies of a region for diverged warps, which motifs do not see.

ptxas puts `BRA.DIV` before shuffles that a warp may reach diverged. Its target repeats the
same work lane by lane (with calls or `WARPSYNC.COLLECTIVE`) and comes back. What both ways
compute is one thing, so a φ that joins them is what the main way computes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sassql.facts.blocks import Blocks
from sassql.facts.dominators import Dominators
from sassql.isa import classes
from sassql.model.form import Form
from sassql.model.kernel import Kernel


@dataclass(frozen=True, slots=True)
class Divergence:
    """The blocks that are copies for diverged warps."""

    blocks: frozenset[int]

    def __bool__(self) -> bool:
        return bool(self.blocks)


def divergence(kernel: Kernel) -> Divergence:
    """The copies of a kernel: what the target of a `BRA.DIV` dominates."""
    rows = [row for row in np.unique(kernel.form_ids).tolist() if _splits(kernel.forms[row])]
    if not rows:
        return Divergence(frozenset())
    blocks: Blocks = kernel.fact("blocks")
    tree: Dominators = kernel.fact("dominators")
    found = set[int]()
    for index in np.flatnonzero(np.isin(kernel.form_ids, rows)).tolist():
        here = int(blocks.of[index])
        beyond = index + 1
        stays = int(blocks.of[beyond]) if beyond < len(kernel.form_ids) else here
        for target in blocks.successors[here]:
            if target != stays and blocks.predecessors[target] == (here,):
                found |= {block for block in range(len(blocks)) if tree.dominates(target, block)}
    return Divergence(frozenset(found))


def _splits(form: Form) -> bool:
    return classes.belongs("divergence", form.opcode, form.modifiers, form.operands)
