"""Which live blocks of a kernel no run has reached.

Not live are padding, fillers, copies for diverged warps, the compiler's slow paths, and what can be
reached only through a branch side that a run has assumed not to be taken.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sassql.facts.blocks import Blocks
from sassql.model.kernel import Kernel

_NOT_LIVE = frozenset({"padding", "slowpath", "div_copy"})


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
        if all("filler" in tags.get(index, ()) for index in range(first, last)):
            continue
        found.append(int(kernel.addresses[first]))
    return found
