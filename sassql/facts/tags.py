"""Fact "tags": instructions that are text but not the program's own work, by instruction number.

``padding`` is never reached; a ``filler`` is guarded by ``@!PT`` and never executes;
``slowpath`` is a routine that the compiler adds for the rare cases of division, square root
and the like. Copies of diverged regions (``div_copy``) are not recognised yet.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from sassql.facts.blocks import Blocks
from sassql.model.kernel import Kernel, provides

FILLER, PADDING, SLOWPATH = "filler", "padding", "slowpath"

# the compiler's own routines, such as $__internal_0_$__cuda_sm3x_div_rn_noftz_f32_slowpath
_ROUTINE = re.compile(r"(?:^|\$)__cuda_sm\d+x?_")


@provides("tags")
def tags(kernel: Kernel) -> Mapping[int, tuple[str, ...]]:
    """Sorted tags of every instruction that has one."""
    found: dict[int, list[str]] = {}
    forms, ids = kernel.forms, kernel.form_ids
    never = [
        row for row in np.unique(ids).tolist() if (guard := forms[row].guard) is not None and guard.never
    ]
    for index in np.flatnonzero(np.isin(ids, never)).tolist():
        found.setdefault(index, []).append(FILLER)
    blocks: Blocks = kernel.fact("blocks")
    for block, reachable in enumerate(blocks.reachable):
        if not reachable:
            for index in range(blocks.start[block], blocks.end[block]):
                found.setdefault(index, []).append(PADDING)
    for function in kernel.functions:
        if not function.entry and _ROUTINE.search(function.name):
            first, last = np.searchsorted(kernel.addresses, [function.start, function.start + function.size])
            for index in range(first, last):
                found.setdefault(index, []).append(SLOWPATH)
    return {index: tuple(sorted(set(names))) for index, names in sorted(found.items())}
