"""Analyses of a kernel, one a file; importing this package registers them for `Kernel.fact`."""

from __future__ import annotations

from sassql.facts import (
    accesses,
    blocks,
    cfg,
    clobbers,
    constants,
    copies,
    dataflow,
    dominators,
    liveness,
    loops,
    ssa,
    tags,
)

__all__ = [
    "accesses",
    "blocks",
    "cfg",
    "clobbers",
    "constants",
    "copies",
    "dataflow",
    "dominators",
    "liveness",
    "loops",
    "ssa",
    "tags",
]
