"""Which unknown elements each node depends on, as sets of bits, a few hundred elements at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from sassql.insight.dag import LEAF, Dag, Ids
from sassql.insight.evaluation import live, nodes_of

_WORDS = 8


def dependencies(dag: Dag, wanted: Ids) -> Iterator[npt.NDArray[np.uint64]]:
    """For every 512 leaves that matter, the ones that each wanted node depends on; shape (wanted, words)."""
    alive = live(dag, wanted)
    numbers = [n for n, operation in enumerate(dag.operations) if operation.name == LEAF]
    leaves = np.flatnonzero(alive & np.isin(dag.codes[: dag.size], numbers))
    groups = [group for group in dag.schedule() if group.count]
    for start in range(0, len(leaves), 64 * _WORDS):
        some = leaves[start : start + 64 * _WORDS]
        sets = np.zeros((dag.size, _WORDS), np.uint64)
        place = np.arange(len(some))
        sets[some, place // 64] = np.uint64(1) << (place % 64).astype(np.uint64)
        for group in groups:
            here = nodes_of(group, alive)
            if not len(here):
                continue
            found = sets[dag.arguments[0, here]]
            for argument in range(1, group.count):
                found |= sets[dag.arguments[argument, here]]
            sets[here] = found
        yield sets[wanted]


def same_dependencies(dag: Dag, a: Ids, b: Ids) -> bool:
    """Whether node i of ``a`` depends on the same leaves as node i of ``b``."""
    both = np.concatenate([a, b])
    return all((sets[: len(a)] == sets[len(a) :]).all() for sets in dependencies(dag, both))
