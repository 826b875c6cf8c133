"""Facts "tags" and "loop_tags": what is text, but not the program's own work.

Tags of an instruction, by its number:

``padding``    never reached
``filler``     never executes (``@!PT``) or does nothing (NOP): keeps two instructions apart
``slowpath``   a routine that the compiler adds: the rare cases of division, square root and
               sine, shuffles that old builds call in place of SHFL
``div_copy``   repeats the main way's work for diverged warps

Tags of a loop: ``spin``, memory that it reads decides how long it waits, and nothing is
counted; ``padding``, a branch to itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from sassql.facts.blocks import Blocks
from sassql.facts.bounds import waits
from sassql.facts.counters import Counters, LoopKind
from sassql.facts.forms import ByShape, Forms
from sassql.facts.loops import Loops
from sassql.isa import classes
from sassql.model.form import Form
from sassql.model.kernel import Kernel, provides

FILLER, PADDING, SLOWPATH, DIV_COPY = "filler", "padding", "slowpath", "div_copy"
SPIN = "spin"

# the compiler's own routines, such as $__internal_0_$__cuda_sm3x_div_rn_noftz_f32_slowpath
_ROUTINE = re.compile(r"(?:^|\$)__(?:cuda_sm\d+x?_|internal_\w+_slowpath)")


@provides("tags")
def tags(kernel: Kernel) -> Mapping[int, tuple[str, ...]]:
    """Sorted tags of every instruction that has one."""
    found: dict[int, list[str]] = {}
    forms: Forms = kernel.fact("forms")
    blocks: Blocks = kernel.fact("blocks")
    copies: frozenset[int] = kernel.fact("div_copies")
    of = blocks.of.tolist()
    for index in forms.places(_never_runs):
        found.setdefault(index, []).append(FILLER)
    for index in forms.places(_is_idle):
        if blocks.reachable[of[index]]:
            found.setdefault(index, []).append(FILLER)
    for block, reachable in enumerate(blocks.reachable):
        names = [DIV_COPY] * (block in copies) + [PADDING] * (not reachable)
        for index in range(int(blocks.start[block]), int(blocks.end[block])) if names else ():
            found.setdefault(index, []).extend(names)
    for function in kernel.functions:
        if not function.entry and _ROUTINE.search(function.name):
            first, last = np.searchsorted(kernel.addresses, [function.start, function.start + function.size])
            for index in range(int(first), int(last)):
                found.setdefault(index, []).append(SLOWPATH)
    return {index: tuple(sorted(set(names))) for index, names in sorted(found.items())}


def _never_runs(form: Form) -> bool:
    guard = form.shape.guard
    return guard is not None and guard.never


def _belongs(form: Form) -> bool:
    return classes.belongs("idle", form.opcode, form.modifiers, form.operands)


_is_idle = ByShape(_belongs, numbers=True)


@provides("loop_tags")
def loop_tags(kernel: Kernel) -> tuple[str, ...]:
    """By loop of "loops", ``spin``, ``padding`` or nothing."""
    loops: Loops = kernel.fact("loops")
    blocks: Blocks = kernel.fact("blocks")
    found = []
    for number, loop in enumerate(loops.loops):
        tag = ""
        if not loop.exits and blocks.end[loop.header] - blocks.start[loop.header] == 1 == len(loop.blocks):
            tag = PADDING
        elif waits(kernel, loop):  # only then the counters are worth their price
            counters: Counters = kernel.fact("counters")
            tag = SPIN if counters[number].kind is LoopKind.SPIN else ""
        found.append(tag)
    return tuple(found)
