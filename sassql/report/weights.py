"""How much an instruction counts: ten times as much for each loop around it.

The usual guess of compilers where nobody has measured: the cost that register allocators give to a
spill grows by a factor of ten with each level of nesting.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from sassql.facts.blocks import Blocks
from sassql.facts.loops import NO_LOOP, Loops
from sassql.facts.tags import PADDING
from sassql.model.kernel import Kernel

PER_LOOP = 10
DEEPEST = 4
"""Loops deeper than this count no more: the guess says nothing there."""


class Weights:
    """Weights of the instructions of one kernel; padding weighs nothing."""

    def __init__(self, kernel: Kernel) -> None:
        blocks: Blocks = kernel.fact("blocks")
        loops: Loops = kernel.fact("loops")
        depths = [0 if n == NO_LOOP else min(loops[n].depth, DEEPEST) for n in loops.of]
        self._of: npt.NDArray[np.int64] = np.power(PER_LOOP, np.array(depths, np.int64))[blocks.of]
        for index, tags in kernel.fact("tags").items():
            if PADDING in tags:
                self._of[index] = 0

    def of(self, instructions: Iterable[int]) -> int:
        """The weight of some instructions, by number."""
        return int(self._of[list(instructions)].sum())

    @property
    def total(self) -> int:
        return int(self._of.sum())
