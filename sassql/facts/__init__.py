"""Analyses of a kernel, one a file; importing this package registers them for `Kernel.fact`."""

from __future__ import annotations

from sassql.facts import (
    accesses,
    addresses,
    blocks,
    cfg,
    clobbers,
    constants,
    control,
    copies,
    counters,
    dataflow,
    divergence,
    dominators,
    formulas,
    liveness,
    loops,
    meanings,
    memory_flow,
    slices,
    ssa,
    tags,
)

__all__ = [
    "accesses",
    "addresses",
    "blocks",
    "cfg",
    "clobbers",
    "constants",
    "control",
    "copies",
    "counters",
    "dataflow",
    "divergence",
    "dominators",
    "formulas",
    "liveness",
    "loops",
    "meanings",
    "memory_flow",
    "slices",
    "ssa",
    "tags",
]
