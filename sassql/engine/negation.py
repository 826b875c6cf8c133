"""`opt`, `no` and `every`: scopes of which it counts whether something in them holds.

Each is evaluated when every name that it shares with its surroundings is bound. Lines in
them lie in the innermost loop around, if there is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sassql.engine.bindings import Bindings, Matched
from sassql.engine.plan import EveryAtom, ScopeAtom

if TYPE_CHECKING:
    from sassql.engine.solve import Solver


def optional(atom: ScopeAtom, solver: Solver, bindings: Bindings) -> Iterator[Bindings]:
    """A left join: every way to satisfy the block, or ``bindings`` alone where there is none."""
    found = False
    for extended in _inside(atom, solver, bindings):
        found = True
        yield extended.but(branches=bindings.branches)
    if not found:
        yield bindings


def absent(atom: ScopeAtom, solver: Solver, bindings: Bindings) -> Bindings | None:
    """``bindings`` where the block is satisfied in no way; with a doubt where only perhaps in one."""
    result = bindings
    for found in _inside(atom, solver, bindings.but(lenient=True, doubts=())):
        if not found.doubts:
            return None
        result = bindings.with_doubt(f"what line {atom.line} excludes may be there: {found.doubts[0]}")
    return result


def _inside(atom: ScopeAtom, solver: Solver, bindings: Bindings) -> Iterator[Bindings]:
    """The ways to satisfy a block whose own instructions lie in its region."""
    loop = bindings.loops.get(atom.region)
    for found in solver.solve(atom.body, bindings):
        new = (label for label in found.labels if label not in bindings.labels)
        if loop is None or all(solver.view.lies_in(m.index, loop) for n in new for m in found.labels[n]):
            yield found


def every(atom: EveryAtom, solver: Solver, bindings: Bindings) -> Bindings | None:
    """``bindings`` where the body holds for each place where the line lies, and there is one."""
    loop = bindings.loops.get(atom.region)
    label = atom.subject.label
    places: dict[int, list[Bindings]] = {}
    for laid in solver.lay(atom.subject, bindings.but(doubts=())):
        index = laid.labels[label][0].index
        if loop is None or solver.view.lies_in(index, loop):
            places.setdefault(index, []).append(laid)
    if not places:
        return None
    result = bindings
    chosen: list[Bindings] = []
    for ways in places.values():
        best: tuple[Bindings, Bindings] | None = None
        for laid in ways:
            for found in solver.solve(atom.body, laid):
                if best is None or len(found.doubts) < len(best[1].doubts):
                    best = laid, found
                if not found.doubts:
                    break
        if best is None:
            return None
        chosen.append(best[0])
        for reason in best[1].doubts[:1]:
            result = result.with_doubt(reason)
    keys = atom.subject.keys - {label} - bindings.names.keys()
    lists = {key: tuple(laid.names.get(key) for laid in chosen) for key in keys}
    matched: tuple[Matched, ...] = tuple(laid.labels[label][0] for laid in chosen)
    return result.with_label(label, matched).but(lists={**result.lists, **lists})
