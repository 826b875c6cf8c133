"""`use`: rows of another motif as atoms. Each motif is evaluated once per kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from sassql.engine.bindings import Bindings, Bound, Used
from sassql.engine.expressions import Scope, evaluate, single
from sassql.engine.plan import MotifPlan, UseAtom

if TYPE_CHECKING:
    from sassql.engine.solve import Solver


def use_rows(atom: UseAtom, solver: Solver, bindings: Bindings) -> Iterator[Bindings]:
    """``bindings`` with each row of the used motif whose interface agrees."""
    from sassql.engine.matching import used_rows  # noqa: PLC0415  (a motif in a motif)

    for used in used_rows(atom.motif, solver):
        solver.budget.step(atom.line)
        found = _with_row(atom, used, solver, bindings)
        if found is not None:
            yield found


def count_used(motif: MotifPlan, solver: Solver) -> int:
    """How many rows a motif has in this kernel."""
    from sassql.engine.matching import used_rows  # noqa: PLC0415  (a motif in a motif)

    return len(tuple(used_rows(motif, solver)))


def _with_row(atom: UseAtom, used: Used, solver: Solver, bindings: Bindings) -> Bindings | None:
    found: Bindings | None = bindings
    for given, held in zip(atom.inputs, used.inputs, strict=False):
        if isinstance(given, str):
            found = found and _bound(found, given, held)
        elif found is not None:
            wanted = single(evaluate(given, Scope(found, solver.view, atom.names)))
            if wanted is None:
                found = found.with_doubt("an argument is unknown")
            elif wanted != held:
                return None
    for key, held in zip(atom.outputs, used.outputs, strict=False):
        found = found and _bound(found, key, held)
    if found is None:
        return None
    doubts = tuple(dict.fromkeys((*found.doubts, *used.doubts)))
    return found.but(uses={**found.uses, atom.alias: used}, doubts=doubts)


def _bound(bindings: Bindings, key: str, held: object) -> Bindings | None:
    if held is None:
        return None
    return bindings.with_bound(key, cast("Bound", held))
