"""Fact "div_copies": blocks that repeat the main way's work for diverged warps.

ptxas puts `BRA.DIV` before shuffles that a warp may reach diverged. Its target repeats the
same work lane by lane (with calls or `WARPSYNC.COLLECTIVE`) and comes back.
"""

from __future__ import annotations

from sassql.facts.blocks import Blocks
from sassql.facts.dominators import Dominators
from sassql.facts.forms import ByShape, Forms
from sassql.isa import classes
from sassql.model.form import Form
from sassql.model.kernel import Kernel, provides


@provides("div_copies")
def div_copies(kernel: Kernel) -> frozenset[int]:
    """What targets of `BRA.DIV` dominate, where nothing but such branches leads there."""
    forms: Forms = kernel.fact("forms")
    branches = forms.places(_splits)
    if not branches:
        return frozenset()
    blocks: Blocks = kernel.fact("blocks")
    tree: Dominators = kernel.fact("dominators")
    ways = set[tuple[int, int]]()
    for index in branches:
        here = int(blocks.of[index])
        ways |= {(here, target) for target in blocks.successors[here] if target != here + 1}
    pending = [
        target
        for target in {target for _, target in ways}
        if all((before, target) in ways for before in blocks.predecessors[target])
    ]
    found = set[int]()
    while pending:
        block = pending.pop()
        if block not in found:
            found.add(block)
            pending.extend(tree.children[block])
    return frozenset(found)


def _belongs(form: Form) -> bool:
    return classes.belongs("divergence", form.opcode, form.modifiers, form.operands)


_splits = ByShape(_belongs, numbers=True)
