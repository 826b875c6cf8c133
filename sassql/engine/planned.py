"""The order in which a motif's statements are searched, with what each was expected to leave and left.

For `sassql plan`: an order without a kernel is that of the text, since costs are counts of a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

from sassql.engine.bindings import Bindings
from sassql.engine.budget import Budget, OutOfStepsError
from sassql.engine.indexed import INDEXED
from sassql.engine.matching import is_excluded, is_meant_for
from sassql.engine.naive import in_turn
from sassql.engine.plan import Again, Atom, Conjunction, EveryAtom, LineAtom, MotifPlan, RepeatAtom, ScopeAtom
from sassql.engine.plan import Scope as PlanScope
from sassql.engine.readiness import binds
from sassql.engine.view import View
from sassql.engine.watch import Progress, WatchedSolver
from sassql.model.kernel import Kernel


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One statement in its turn.

    ``branch`` is the combination of `either` branches, from 1; ``block`` the line of the `for`,
    `chain`, `opt`, `no` or `every` that it stands in, 0 outside. ``place`` counts from 1, which is the
    seed. ``kind`` is what the engine does; ``binds`` are the names that it binds first.
    ``candidates`` are the instructions that a line fits, names aside, ``expected`` the ways that the
    planner reckoned with for each way before, ``ways`` how many derivations were left; None where
    nothing was run.
    """

    motif: str
    branch: int
    block: int
    place: int
    line: int
    kind: str
    binds: tuple[str, ...]
    candidates: int | None = None
    expected: float | None = None
    ways: int | None = None


@dataclass(frozen=True, slots=True)
class Planned:
    """The steps of a motif; ``spent`` of its budget, and a note where the search was not done to its end."""

    motif: str
    steps: tuple[PlannedStep, ...]
    spent: int = 0
    note: str = ""


def planned(plan: MotifPlan, kernel: Kernel | None, budget: int) -> Planned:
    """The order of a motif in a kernel, after a search; without a kernel, the order of the text."""
    name = plan.motif.name
    if kernel is None:
        return Planned(name, tuple(_in_text(plan.scope, name, 0)))
    if not is_meant_for(plan, kernel.arch):
        return Planned(name, (), 0, f"not for {kernel.arch}")
    view = View(kernel, plan.everything)
    note = "the opcodes of the kernel rule it out: nothing is searched" if is_excluded(plan, view) else ""
    solver = WatchedSolver(view, INDEXED, Budget(budget))
    try:
        for _ in solver.solve(plan.scope, Bindings()) if not note else ():
            pass
    except OutOfStepsError as error:
        note = str(error)
    return Planned(name, tuple(_searched(plan.scope, solver, name, 0)), solver.budget.spent, note)


def _in_text(scope: PlanScope, motif: str, block: int) -> list[PlannedStep]:
    found: list[PlannedStep] = []
    for branch, variant in enumerate(scope.variants, 1):
        atoms = in_turn(variant, frozenset())
        known: set[str] = set()
        for place, atom in enumerate(atoms, 1):
            found.append(_step(motif, branch, block, place, atom, known))
            for inner, line in _scopes(atom):
                found += _in_text(inner, motif, line)
    return found


def _searched(scope: PlanScope, solver: WatchedSolver, motif: str, block: int) -> list[PlannedStep]:
    found: list[PlannedStep] = []
    for branch, variant in enumerate(scope.variants, 1):
        progress = solver.progress(variant) or _unsearched(variant, solver)
        known: set[str] = set()
        for place, atom in enumerate(progress.atoms, 1):
            step = _step(motif, branch, block, place, atom, known)
            count = _count(atom, solver.view)
            expected = progress.estimates[place - 1] if progress.estimates else None
            found.append(
                PlannedStep(
                    *(motif, branch, block, place, step.line, step.kind, step.binds),
                    candidates=count,
                    expected=expected,
                    ways=progress.ways[place],
                )
            )
            for inner, line in _scopes(atom):
                found += _searched(inner, solver, motif, line)
    return found


def _count(atom: Atom, view: View) -> int | None:
    """The instructions that a line fits; sources that may be swapped do not count twice."""
    return len({c.index for c in view.candidates(atom)}) if isinstance(atom, LineAtom) else None


def _unsearched(conjunction: Conjunction, solver: WatchedSolver) -> Progress:
    """The order that a conjunction would have had."""
    atoms = solver.strategy.order(conjunction, solver.view, frozenset()).complete()
    return Progress(conjunction, atoms, [0] * (len(atoms) + 1))


def _scopes(atom: Atom) -> list[tuple[PlanScope, int]]:
    match atom:
        case RepeatAtom(body=body) | ScopeAtom(body=body) | EveryAtom(body=body):
            return [(body, atom.line)]
    return []


def _step(motif: str, branch: int, block: int, place: int, atom: Atom, known: set[str]) -> PlannedStep:
    new = sorted(key for key in binds(atom) - known if "line " not in key)
    known |= binds(atom)
    return PlannedStep(motif, branch, block, place, atom.line, _kind(atom), tuple(new))


def _kind(atom: Atom) -> str:
    match atom:
        case Again(atom=again):
            return f"{_kind(again)} again"
        case ScopeAtom(kind=kind):
            return kind
        case RepeatAtom(block=block):
            return type(block).__name__.lower()
    return type(atom).__name__.removesuffix("Atom").lower()
