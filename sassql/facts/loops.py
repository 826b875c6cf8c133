"""Fact "loops": the natural loops of a kernel and how they nest.

A back edge goes from a block to one that dominates it. Loops with one header are one loop.
A cycle with several ways in (never seen from a compiler so far) is no natural loop: its
entry edges are listed as ``irreducible``, so that nobody mistakes it for straight code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sassql.facts.blocks import Blocks
from sassql.facts.dominators import Dominators, reverse_postorder
from sassql.model.kernel import Kernel, provides

NO_LOOP = -1


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop. ``blocks`` has inner loops too, in ascending order.

    ``latches`` are the blocks with a back edge, ``exits`` the edges that leave. ``parent``
    is the number of the enclosing loop, or -1; ``depth`` is 1 for an outermost loop.
    """

    header: int
    blocks: tuple[int, ...]
    latches: tuple[int, ...]
    exits: tuple[tuple[int, int], ...]
    parent: int
    depth: int


@dataclass(frozen=True, slots=True, eq=False)
class Loops:
    """All loops of reachable code, outer ones before inner ones, then by header.

    ``of`` has the innermost loop of each block, or -1.
    """

    loops: tuple[Loop, ...]
    of: tuple[int, ...]
    irreducible: tuple[tuple[int, int], ...]

    def __len__(self) -> int:
        return len(self.loops)

    def __getitem__(self, number: int) -> Loop:
        return self.loops[number]

    def enclosing(self, block: int) -> tuple[int, ...]:
        """Numbers of the loops that hold ``block``, the innermost first."""
        found = []
        number = self.of[block]
        while number != NO_LOOP:
            found.append(number)
            number = self.loops[number].parent
        return tuple(found)


@provides("loops")
def loops(kernel: Kernel) -> Loops:
    """The loop forest of a kernel."""
    blocks: Blocks = kernel.fact("blocks")
    tree: Dominators = kernel.fact("dominators")
    latches: dict[int, list[int]] = {}
    irreducible: list[tuple[int, int]] = []
    rank = {b: i for i, b in enumerate(reverse_postorder(blocks.roots, blocks.successors))}
    for block, following in enumerate(blocks.successors):
        for target in following:
            if not blocks.reachable[block]:
                continue
            if tree.dominates(target, block):
                latches.setdefault(target, []).append(block)
            elif rank[target] <= rank[block]:
                irreducible.append((block, target))
    bodies = {header: _body(header, ends, blocks.predecessors) for header, ends in latches.items()}
    ordered = sorted(bodies, key=lambda header: (-len(bodies[header]), header))
    of = [NO_LOOP] * len(blocks)
    found: list[Loop] = []
    for header in ordered:  # a loop that holds another one is larger, hence comes first
        body = bodies[header]
        parent = of[header]
        exits = [(b, t) for b in sorted(body) for t in blocks.successors[b] if t not in body]
        depth = 1 if parent == NO_LOOP else found[parent].depth + 1
        found.append(Loop(header, tuple(sorted(body)), tuple(latches[header]), tuple(exits), parent, depth))
        for block in body:
            of[block] = len(found) - 1
    return Loops(tuple(found), tuple(of), tuple(irreducible))


def _body(header: int, latches: Sequence[int], predecessors: Sequence[Sequence[int]]) -> set[int]:
    """The blocks that lead to a latch without going through the header."""
    body = {header}
    pending = list(latches)
    while pending:
        block = pending.pop()
        if block not in body:
            body.add(block)
            pending.extend(predecessors[block])
    return body
