"""Which live blocks of a kernel no run has reached, and which branches went one way only.

Not live are padding, fillers, copies for diverged warps, the compiler's slow paths, and what can be
reached only through a branch side that a run has assumed not to be taken.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sassql.facts.blocks import Blocks
from sassql.insight.running import Run
from sassql.isa.execution import execution_of
from sassql.model.kernel import Kernel

_YIELDING = "give_way"
"""The primitive of an instruction that lets lanes that are behind catch up."""
_NOT_LIVE = frozenset({"padding", "slowpath", "div_copy"})


def _waits(kernel: Kernel, blocks: Blocks, block: int) -> bool:
    """Whether a block does nothing but go back to a place that yields to lanes that are behind (sm_75)."""
    first, last = int(blocks.start[block]), int(blocks.end[block])
    if last - first != 1 or len(blocks.successors[block]) != 1:
        return False
    after = blocks.successors[block][0]
    places = range(int(blocks.start[after]), int(blocks.end[after]))
    found = (execution_of(kernel.forms[kernel.rows[index]]) for index in places)
    return any(not isinstance(one, str) and one.primitive == _YIELDING for one in found)


def missed(kernel: Kernel, reached: npt.NDArray[np.bool_], skipped: set[tuple[int, int]]) -> list[int]:
    """Addresses of live blocks that were never reached; ``skipped`` are branches and the sides not taken."""
    blocks: Blocks = kernel.fact("blocks")
    tags = kernel.fact("tags")
    edges = {(int(blocks.of[branch]), int(blocks.of[side])) for branch, side in skipped if branch != side}
    seen: set[int] = set()
    front = list(blocks.entries)
    while front:
        block = front.pop()
        if block in seen:
            continue
        seen.add(block)
        front += [after for after in blocks.successors[block] if (block, after) not in edges]
    found = []
    for block in sorted(seen):
        first, last = int(blocks.start[block]), int(blocks.end[block])
        if reached[first] or _NOT_LIVE & set(tags.get(first, ())):
            continue
        if _waits(kernel, blocks, block):
            continue
        if all("filler" in tags.get(index, ()) for index in range(first, last)):
            continue
        found.append(int(kernel.addresses[first]))
    return found


def one_way(
    kernel: Kernel,
    reached: npt.NDArray[np.bool_],
    ways: npt.NDArray[np.bool_],
    skipped: set[tuple[int, int]],
) -> list[int]:
    """Addresses of branches and exits with a condition that never failed, or never held."""
    tags = kernel.fact("tags")
    assumed = {branch for branch, _ in skipped}
    decided = np.flatnonzero(reached & ways.any(axis=0) & ~ways.all(axis=0))
    return [
        int(kernel.addresses[index])
        for index in decided.tolist()
        if index not in assumed and not _NOT_LIVE & set(tags.get(index, ())) and _decides(kernel, index)
    ]


def _decides(kernel: Kernel, index: int) -> bool:
    """False for an exit or branch whose condition is no condition, such as `@!PT`."""
    guard = kernel.forms[kernel.rows[index]].guard
    return guard is None or guard.index is not None


class Coverage:
    """What the kernels reached over all shapes."""

    def __init__(self) -> None:
        self.reached: list[npt.NDArray[np.bool_]] = []
        self.ways: list[npt.NDArray[np.bool_]] = []
        self.skipped: list[set[tuple[int, int]]] = []

    def add(self, runs: list[Run]) -> None:
        """Add the runs of a shape."""
        if not self.reached:
            self.reached = [r.reached.copy() for r in runs]
            self.ways = [r.ways.copy() for r in runs]
            self.skipped = [set(r.skipped) for r in runs]
            return
        for place, one in enumerate(runs):
            self.reached[place] |= one.reached
            self.ways[place] |= one.ways
            self.skipped[place] |= one.skipped

    def missing(self, *kernels: Kernel) -> str:
        """What no shape has run, as a reason; empty where every way was gone."""
        for place, (name, kernel) in enumerate(zip("AB", kernels, strict=False)):
            blocks = missed(kernel, self.reached[place], self.skipped[place])
            if blocks:
                what = _places(blocks, "block")
                return f"{name} ({kernel.name}): {what} ran on no shape; add a shape that runs it"
        return ""

    def one_sided(self, *kernels: Kernel) -> list[str]:
        """Conditions that came out one way everywhere, as notes: elsewhere the kernels may differ."""
        found = []
        for place, (name, kernel) in enumerate(zip("AB", kernels, strict=False)):
            single = one_way(kernel, self.reached[place], self.ways[place], self.skipped[place])
            if single:
                text = f"{_places(single, 'condition')} came out the same way on every shape"
                found.append(f"{name} ({kernel.name}): {text}")
        return found


def _places(addresses: list[int], what: str) -> str:
    more = f" and {len(addresses) - 1} more" if len(addresses) > 1 else ""
    return f"the {what} at {addresses[0]:#x}{more}"
