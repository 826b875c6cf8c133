"""Copies of a region for diverged warps, which motifs do not see.

`sassql.facts.divergence` finds them. What the main way and the copy compute is one thing,
so a φ that joins them is what the main way computes.
"""

from __future__ import annotations

from dataclasses import dataclass

from sassql.model.kernel import Kernel


@dataclass(frozen=True, slots=True)
class Divergence:
    """The blocks that are copies for diverged warps."""

    blocks: frozenset[int]

    def __bool__(self) -> bool:
        return bool(self.blocks)


def divergence(kernel: Kernel) -> Divergence:
    """The copies of a kernel."""
    return Divergence(kernel.fact("div_copies"))
