"""Fact "control": which branches decide whether a block runs, and what holds where it does.

A block depends on a branch if one way out of the branch always leads to the block and
another may not: the post-dominance frontier. A guarded EXIT is such a branch for all that follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sassql.facts.blocks import Blocks
from sassql.facts.copies import Copies
from sassql.facts.dominators import NO_BLOCK, Dominators, frontiers
from sassql.facts.forms import Forms
from sassql.facts.values import SSA
from sassql.isa.flow import FlowKind, flow_of
from sassql.model.kernel import Kernel, provides
from sassql.model.operands import RegisterOperand

Condition = tuple[int, bool]
"""(root of a predicate's copy class, whether it holds)."""


@dataclass(slots=True, eq=False)
class Control:
    """Control dependence of the blocks of a kernel."""

    kernel: Kernel
    ssa: SSA
    copies: Copies
    blocks: Blocks
    forms: Forms
    tree: Dominators
    _frontier: list[set[int]]
    _known: dict[int, dict[int, bool]] = field(default_factory=dict)

    def branches(self, block: int) -> tuple[int, ...]:
        """The branches (instruction numbers) that directly decide whether ``block`` runs."""
        return tuple(int(self.blocks.end[above]) - 1 for above in sorted(self._frontier[block]))

    def condition(self, block: int, target: int) -> Condition | None:
        """What holds on the way from a block to a successor; None where nothing is known."""
        index = int(self.blocks.end[block]) - 1
        following = self.blocks.successors[block]
        form = self.forms.of[index]
        flow = flow_of(form)
        guard, value = form.guard, self.ssa.guard(index)
        if guard is None or value is None or flow.kind not in (FlowKind.BRANCH, FlowKind.EXIT):
            return None
        if any(isinstance(o, RegisterOperand) for o in form.operands):
            return None  # more than the guard decides
        if flow.kind is FlowKind.BRANCH and len(following) != 2:
            return None
        taken = target != block + 1 if flow.kind is FlowKind.BRANCH else False
        return self.copies.root(value), taken != guard.inverted

    def known(self, block: int) -> Mapping[int, bool]:
        """Predicates (roots) that are decided wherever ``block`` runs, by the branches that dominate it."""
        if block not in self._known:
            above = self.tree.immediate[block]
            found = {} if above == NO_BLOCK else dict(self.known_above(above, block))
            self._known[block] = found
        return self._known[block]

    def known_above(self, above: int, block: int) -> Mapping[int, bool]:
        """What holds in ``block`` since it holds in its dominator ``above``, or on the way from there."""
        chain = [above]
        while chain[-1] not in self._known and self.tree.immediate[chain[-1]] != NO_BLOCK:
            chain.append(self.tree.immediate[chain[-1]])
        self._known.setdefault(chain[-1], {})
        for place in range(len(chain) - 2, -1, -1):
            self._known[chain[place]] = self._with(chain[place + 1], chain[place])
        return self._with(above, block)

    def _with(self, above: int, block: int) -> dict[int, bool]:
        found = dict(self._known[above])
        if self.blocks.predecessors[block] == (above,):
            condition = self.condition(above, block)
            if condition is not None:
                found[condition[0]] = condition[1]
        return found


@provides("control")
def control(kernel: Kernel) -> Control:
    """Control dependence of a kernel."""
    blocks: Blocks = kernel.fact("blocks")
    after: Dominators = kernel.fact("postdominators")
    ways_out = [block for block, following in enumerate(blocks.successors) if not following]
    ways_out += [*blocks.leaving, *(int(blocks.of[index]) for index in blocks.unresolved)]
    frontier = frontiers(after, sorted(set(ways_out)), blocks.successors)
    ssa: SSA = kernel.fact("ssa")
    copies: Copies = kernel.fact("copies")
    return Control(kernel, ssa, copies, blocks, kernel.fact("forms"), kernel.fact("dominators"), frontier)
