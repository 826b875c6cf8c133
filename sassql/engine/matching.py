"""A motif in a kernel: search, budget, rows."""

from __future__ import annotations

from collections.abc import Iterable

from sassql.engine import indexed
from sassql.engine.bindings import Bindings, Used
from sassql.engine.budget import Budget, OutOfStepsError
from sassql.engine.earliest import Earliest, is_same_for_branches
from sassql.engine.expressions import Scope, evaluate, single
from sassql.engine.plan import MotifPlan
from sassql.engine.rows import Group, column_values, gave_up, groups, names_of, rows
from sassql.engine.session import session
from sassql.engine.solve import Solver, Strategy
from sassql.engine.view import View
from sassql.lang.arch import covers
from sassql.lang.ast import Name, Position, Sigil
from sassql.model.kernel import Kernel
from sassql.model.rows import Row


def match_motif(
    plan: MotifPlan, kernel: Kernel, budget: Budget, strategy: Strategy = indexed.INDEXED
) -> list[Row]:
    """Rows of one motif; ``strategy`` says how the search goes, not what it finds."""
    if not len(kernel.form_ids):
        return []
    view = View(kernel, plan.everything)
    if is_excluded(plan, view):
        return []
    key, kept = _key(plan, strategy, budget.limit), session(kernel, plan.everything).used
    grouped, error = kept[key] if key in kept else _searched(plan, view, strategy, budget)
    kept[key] = grouped, error  # others may use it
    if len(grouped) > budget.rows:
        grouped = grouped[: budget.rows]
        error = error or OutOfStepsError(budget.rows, plan.motif.at.line, "rows")
    made = rows(plan, view, grouped, doubt(kernel)) if grouped else []
    return [*made, *([gave_up(plan, kernel, error)] if error else [])]


def _key(plan: MotifPlan, strategy: Strategy, limit: int) -> tuple[str, bool, int]:
    return plan.identity, strategy.exhaustive, limit


def _searched(
    plan: MotifPlan, view: View, strategy: Strategy, budget: Budget
) -> tuple[list[Group], OutOfStepsError | None]:
    """What a search finds before it ends or the budget does."""
    derivations: list[Bindings] = []
    error: OutOfStepsError | None = None
    solver = Solver(view, strategy, budget)
    first_of: list[Earliest] = []
    if plan.shows_first and not strategy.exhaustive:
        first_of = [Earliest(branch, plan.key) for branch in plan.scope.variants]
        solver.earliest = {id(b): first for b, first in zip(plan.scope.variants, first_of, strict=True)}
    alike = bool(first_of) and is_same_for_branches(plan)
    try:
        for bindings in solver.solve(plan.scope, Bindings()):
            derivations.append(bindings)
            if first_of:
                number = bindings.branches[0]
                certain = first_of[number].saw(bindings)
                if alike and certain is not None:
                    for later in first_of[number + 1 :]:
                        later.close(certain)
    except OutOfStepsError as found:
        error = found
    return groups(plan, derivations), error


def is_excluded(plan: MotifPlan, view: View) -> bool:
    """True where the opcodes of the kernel alone say that there is no row."""
    return all(view.excludes(variant) for variant in plan.scope.variants)


def is_meant_for(plan: MotifPlan, arch: str) -> bool:
    """True where the motif's `arch` header covers an architecture."""
    return not plan.arch or covers(plan.arch, arch)


def used_rows(plan: MotifPlan, solver: Solver) -> Iterable[Used]:
    """The rows of a motif that another one uses, found once per kernel."""
    kernel, strategy = solver.view.kernel, solver.strategy
    home, key = session(kernel, plan.everything), _key(plan, strategy, solver.budget.limit)
    if key not in home.rows_of:
        view = View(kernel, plan.everything)
        found: list[Used] = []
        if is_meant_for(plan, kernel.arch) and not is_excluded(plan, view):
            if key not in home.used:
                home.used[key] = _searched(plan, view, strategy, Budget(solver.budget.limit))
            grouped, error = home.used[key]
            if error is not None:
                error.motif = error.motif or plan.motif.name
                raise error
            for group in grouped:
                found += _uses(plan, view, group)
        home.rows_of[key] = tuple(found)
    return home.rows_of[key]


def _uses(plan: MotifPlan, view: View, group: Group) -> Iterable[Used]:
    """A row for each way in which the interface of a group is bound."""
    columns = column_values(plan, view, group)
    seen: set[str] = set()
    for bindings in group.derivations:
        scope = Scope(bindings, view, names_of(plan, bindings))
        inputs = tuple(_interface(key, scope) for key in plan.inputs)
        outputs = tuple(_interface(key, scope) for key in plan.outputs)
        text = f"{[str(i) for i in inputs]} {[str(o) for o in outputs]}"
        if text not in seen:
            seen.add(text)
            yield Used(plan.motif.name, columns, inputs, outputs, bindings.doubts, group.key, _at(bindings))


def _at(bindings: Bindings) -> tuple[int, ...]:
    own = {matched.index for found in bindings.labels.values() for matched in found}
    return tuple(sorted(own.union(*(used.at for used in bindings.uses.values()))))


def _interface(key: str, scope: Scope) -> object:
    """What a name of the interface is bound to, as bindings have it."""
    called = scope.names.get(key, key)
    found = scope.bindings.names.get(called)
    if found is not None or Sigil(key[0]) is not Sigil.INTEGER:
        return found
    return single(evaluate(Name(Sigil.INTEGER, key[1:], False, Position(0, 0)), scope))


def doubt(kernel: Kernel) -> str:
    """Why nothing about this kernel is certain, or an empty string.

    Its control flow is not all known, or it has instructions that the tables lack.
    """
    unresolved = kernel.fact("blocks").unresolved
    if unresolved:
        address = int(kernel.addresses[unresolved[0]])
        return f"the targets of the branch at {address:#x} are not known"
    unknown = kernel.fact("accesses").incomplete
    if unknown:
        first = kernel.instructions[unknown[0]]
        return f"{first.opcode or 'the instruction'} at {first.address:#x} is not in the tables"
    return ""
