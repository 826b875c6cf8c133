"""Facts "dominators" and "postdominators", and dominance frontiers.

Immediate dominators by Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm").
Several roots (the entry, local functions, unreachable regions) hang below one invisible
root; blocks of different functions dominate each other never.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sassql.facts.blocks import Blocks, mark
from sassql.model.kernel import Kernel, provides

NO_BLOCK = -1
"""Immediate dominator of a root."""


@dataclass(frozen=True, slots=True, eq=False)
class Dominators:
    """A dominator tree over the blocks; for "postdominators" over the reversed graph.

    ``immediate`` has the closest other block on every path from a root, or -1 for none;
    ``children`` the opposite; ``roots`` the blocks without one. ``order`` is the tree in
    preorder: a block comes after its dominators.
    """

    immediate: tuple[int, ...]
    children: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]
    _first: tuple[int, ...]
    _last: tuple[int, ...]

    def dominates(self, a: int, b: int) -> bool:
        """True where every path from a root to block ``b`` goes through ``a``; ``a`` dominates itself."""
        return self._first[a] <= self._first[b] <= self._last[a]

    @property
    def roots(self) -> tuple[int, ...]:
        return tuple(block for block, above in enumerate(self.immediate) if above == NO_BLOCK)


def dominator_tree(
    roots: Sequence[int], successors: Sequence[Sequence[int]], predecessors: Sequence[Sequence[int]]
) -> Dominators:
    """The dominator tree of any graph whose nodes are all reached from ``roots``."""
    immediate = _immediate(roots, successors, predecessors)
    children: list[list[int]] = [[] for _ in successors]
    for block, above in enumerate(immediate):
        if above != NO_BLOCK:
            children[above].append(block)
    order, first, last = _preorder(immediate, children)
    return Dominators(tuple(immediate), tuple(map(tuple, children)), tuple(order), first, last)


def _immediate(
    roots: Sequence[int], successors: Sequence[Sequence[int]], predecessors: Sequence[Sequence[int]]
) -> list[int]:
    count = len(successors)
    order = reverse_postorder(roots, successors)
    rank = [0] * (count + 1)
    for place, block in enumerate(order):
        rank[block] = place + 1
    top = count  # the invisible root, of rank 0
    above = [NO_BLOCK] * count + [top]
    for root in roots:
        above[root] = top
    fixed = set(roots)
    changed = True
    while changed:
        changed = False
        for block in order:
            if block in fixed:
                continue
            new = NO_BLOCK
            for before in predecessors[block]:
                if above[before] == NO_BLOCK:
                    continue
                a, b = before, before if new == NO_BLOCK else new
                while a != b:
                    while rank[a] > rank[b]:
                        a = above[a]
                    while rank[b] > rank[a]:
                        b = above[b]
                new = a
            if above[block] != new:
                above[block] = new
                changed = True
    return [NO_BLOCK if found == top else found for found in above[:count]]


def reverse_postorder(roots: Sequence[int], successors: Sequence[Sequence[int]]) -> list[int]:
    """Blocks so that each comes before its successors, back edges aside."""
    seen = [False] * len(successors)
    finished: list[int] = []
    for root in roots:
        if seen[root]:
            continue
        seen[root] = True
        pending = [(root, iter(successors[root]))]
        while pending:
            block, following = pending[-1]
            for target in following:
                if not seen[target]:
                    seen[target] = True
                    pending.append((target, iter(successors[target])))
                    break
            else:
                finished.append(block)
                pending.pop()
    finished.reverse()
    return finished


def _preorder(
    immediate: Sequence[int], children: Sequence[Sequence[int]]
) -> tuple[list[int], tuple[int, ...], tuple[int, ...]]:
    first = [0] * len(immediate)
    size = [1] * len(immediate)
    order: list[int] = []
    pending = [block for block, above in enumerate(immediate) if above == NO_BLOCK][::-1]
    while pending:
        block = pending.pop()
        first[block] = len(order)
        order.append(block)
        pending.extend(reversed(children[block]))
    for block in reversed(order):
        if immediate[block] != NO_BLOCK:
            size[immediate[block]] += size[block]
    return order, tuple(first), tuple(f + s - 1 for f, s in zip(first, size, strict=True))


def frontiers(
    tree: Dominators, roots: Sequence[int], predecessors: Sequence[Sequence[int]]
) -> list[set[int]]:
    """The dominance frontier of each block; a root that is branched to counts as a join.

    ``roots`` have one more way in than their predecessors say: from outside.
    """
    found: list[set[int]] = [set() for _ in predecessors]
    outside = set(roots)
    for block, before in enumerate(predecessors):
        if len(before) + (block in outside) < 2:
            continue
        stop = tree.immediate[block]
        for start in before:
            runner = start
            while runner not in (stop, NO_BLOCK):
                found[runner].add(block)
                runner = tree.immediate[runner]
    return found


@provides("dominators")
def dominators(kernel: Kernel) -> Dominators:
    """The dominator tree; unreachable regions have roots of their own."""
    found: Blocks = kernel.fact("blocks")
    return dominator_tree(found.roots, found.successors, found.predecessors)


@provides("postdominators")
def postdominators(kernel: Kernel) -> Dominators:
    """The post-dominator tree: ``dominates(a, b)`` says that every way out of ``b`` goes through ``a``.

    Ways out are exits and returns, guarded ones too, branches with unknown targets, and the
    end of the section. A region without a way
    out (an endless loop) is given one at its last block, so that every block has a place.
    """
    found: Blocks = kernel.fact("blocks")
    ways_out = [block for block, following in enumerate(found.successors) if not following]
    ways_out += [*found.leaving, *(int(found.of[index]) for index in found.unresolved)]
    ways_out = sorted(set(ways_out))
    seen = [False] * len(found)
    for block in ways_out:
        if not seen[block]:
            mark(block, found.predecessors, seen)
    for block in range(len(found) - 1, -1, -1):
        if not seen[block]:
            ways_out.append(block)
            mark(block, found.predecessors, seen)
    return dominator_tree(ways_out, found.predecessors, found.successors)
