"""The obviously right way to satisfy lines: try everything. It is the oracle of the faster one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sassql.engine.bindings import Bindings
from sassql.engine.budget import Budget
from sassql.engine.plan import LinePlan
from sassql.engine.view import View


def satisfy(lines: Sequence[LinePlan], view: View, bindings: Bindings, budget: Budget) -> Iterator[Bindings]:
    """Every way to lay all ``lines`` on instructions that agrees with ``bindings``."""
    if not lines:
        yield bindings
        return
    first, others = lines[0], lines[1:]
    for candidate in view.candidates(first):
        budget.step(first.line.at.line)
        extended = view.lay(first, candidate, bindings)
        if extended is not None:
            yield from satisfy(others, view, extended, budget)
