"""Invariants: which structure of a kernel its mathematics forces, and which was only chosen.

    found = invariants(kernel)
    found.independence                      # proven, refuted or unknown
    for reduction in found.reductions: print(reduction.text, reduction.order)

Everything is said from the facts of the kernel and from motifs; nothing is executed. Work is limited by
steps, so a giant kernel gets ``unknown`` with the reason, on every machine the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sassql.engine.matching import doubt
from sassql.insight.classify import BUDGET
from sassql.insight.invariants_dependency import Dependencies, of_kernel
from sassql.insight.invariants_flow import Flow, Work
from sassql.insight.invariants_numerics import Rounding
from sassql.insight.invariants_reduction import Reductions
from sassql.insight.invariants_reuse import Reuses
from sassql.insight.invariants_stages import Stages
from sassql.insight.invariants_statements import UNKNOWN, Invariants
from sassql.insight.invariants_storage import Storage
from sassql.model.kernel import Kernel

__all__ = ["DEFAULT_BUDGET", "MOST_INSTRUCTIONS", "Invariants", "invariants"]

DEFAULT_BUDGET = 200_000
"""Values that all walks through one kernel look at."""
STEPS_PER_VALUE = BUDGET // DEFAULT_BUDGET
"""Steps that the search for a motif may take, for each value of the budget."""
MOST_INSTRUCTIONS = 40_000
"""A larger kernel is not looked at: its facts alone take minutes."""


def invariants(kernel: Kernel, *, budget: int = DEFAULT_BUDGET) -> Invariants:
    """What is invariant in a kernel: dependency, reductions, observability, reuse, order, numerics.

    Args:
        kernel: of any architecture.
        budget: how many values are looked at, and in proportion how long each motif is searched; where that
            does not suffice, statements are ``unknown``, and ``open`` says so.

    Returns:
        Statements with their evidence (addresses in bytes) and their missing premises.
    """
    source = kernel.source
    if len(kernel.form_ids) > MOST_INSTRUCTIONS:
        why = f"{len(kernel.form_ids)} instructions, more than {MOST_INSTRUCTIONS}"
        return Invariants(
            kernel.name, kernel.arch, source.file, source.entry, UNKNOWN, why, (), (), (), (), (), (why,)
        )
    work = Work(budget)
    flow = Flow(kernel, work)
    stages = Stages(flow, STEPS_PER_VALUE * budget)
    dependencies, storage, reuse = Dependencies(flow), Storage(flow), Reuses(flow)
    reductions = tuple(Reductions(flow, stages).find())
    outputs = tuple(dependencies.outputs())
    left = doubt(kernel)
    independence, why = of_kernel(outputs, left or _cut(dependencies.left_out, "stores"))
    stored, reused = tuple(storage.find()), tuple(reuse.find())
    numerics = tuple(Rounding(flow, reductions).find())
    open_ = [left, *stages.gave_up, *flow.memory.incomplete]
    open_ += [_cut(dependencies.left_out, "stores"), _cut(reuse.left_out, "loads")]
    if work.left < 0:
        open_.append(f"the budget of {budget} values ran out")
    return Invariants(
        kernel.name,
        kernel.arch,
        source.file,
        source.entry,
        independence,
        why,
        outputs,
        reductions,
        stored,
        reused,
        numerics,
        tuple(dict.fromkeys(filter(None, open_))),
    )


def _cut(count: int, what: str) -> str:
    return f"{count} more {what} were not looked at" if count else ""


def record(kernel: Kernel) -> dict[str, Any]:
    """The invariants as plain values, with the field names of ``--format jsonl``."""
    return invariants(kernel).as_record()


def question() -> Callable[[Kernel], dict[str, Any]]:
    """`record` for `sassql.corpus.batch`."""
    return record
