"""Derivations to rows: keys, emitted columns, order, status."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sassql.engine.bindings import Bindings
from sassql.engine.budget import OutOfStepsError
from sassql.engine.expressions import MIXED, Scope, evaluate, single, truth
from sassql.engine.plan import MotifPlan
from sassql.model.instruction import Instruction
from sassql.model.kernel import Kernel
from sassql.model.rows import Row

Key = tuple[int, ...]


def rows(plan: MotifPlan, kernel: Kernel, derivations: Iterable[Bindings], doubt: str) -> list[Row]:
    """One row per key, in the order of addresses.

    The first derivation of a key, by the lowest addresses, gives the instructions; columns in
    which the derivations of a key differ are ``mixed``. ``doubt`` says why every row of this
    kernel is only a ``maybe``, or is empty.
    """
    grouped = frozenset(label for run in plan.runs for label in run.labels)
    found: dict[Key, list[tuple[Bindings, bool]]] = {}
    seen = set[str]()
    for bindings in _smallest(derivations):
        identity = bindings.identity()
        if identity in seen:
            continue
        scope = Scope(bindings, kernel, grouped, plan.aliases)
        truths = [truth(where.condition, scope) for where in plan.conditions]
        if False not in truths:
            seen.add(identity)
            found.setdefault(key_of(plan, bindings), []).append((bindings, None in truths))
    made = []
    for key, derived in found.items():
        derived.sort(key=lambda pair: (pair[1], _addresses(pair[0])))
        scopes = [Scope(bindings, kernel, grouped, plan.aliases) for bindings, _ in derived]
        first, uncertain = derived[0]
        reason = doubt or ("a condition is unknown" if uncertain else "")
        made.append(
            Row(
                motif=plan.motif.name,
                kernel=kernel,
                columns={column.name: _column(column.value, scopes) for column in plan.columns},
                instructions=_instructions(plan, kernel, first),
                status="maybe" if reason else "match",
                reason=reason,
                order=(min(key, default=-1), *key),
            )
        )
    return sorted(made, key=lambda row: row.order)


def gave_up(plan: MotifPlan, kernel: Kernel, error: OutOfStepsError) -> Row:
    """The row that says that a motif was not searched to the end."""
    reason = f"motif {plan.motif.name}: the budget of {error.limit} steps ran out at line {error.line}"
    return Row(plan.motif.name, kernel, {}, {}, "gave_up", reason)


def _smallest(derivations: Iterable[Bindings]) -> list[Bindings]:
    """All derivations, sorted so that integers solved from a header come smallest first."""
    return sorted(derivations, key=lambda b: (_addresses(b), [b.integers[key] for key in sorted(b.solved)]))


def key_of(plan: MotifPlan, bindings: Bindings) -> Key:
    """What makes two derivations one row.

    By default the lines with a label outside of blocks, and for each `for` the first and last
    instruction that makes a carried value.
    """
    runs = {label: run for run in plan.runs for label in run.labels}
    if plan.key is not None:
        wanted = [name for name in plan.key if name != "kernel"]
        places = [_ends(bindings, (label,)) if label in runs else _all(bindings, label) for label in wanted]
    else:
        places = [_all(bindings, line.label) for line in plan.lines if line.named]
        places += [_ends(bindings, run.ends) for run in plan.runs]
    return tuple(index for found in places for index in found)


def _all(bindings: Bindings, label: str) -> Key:
    return tuple(matched.index for matched in bindings.labels[label])


def _ends(bindings: Bindings, labels: Iterable[str]) -> Key:
    chains = [_all(bindings, label) for label in labels]
    return (*(chain[0] for chain in chains), *(chain[-1] for chain in chains))


def _addresses(bindings: Bindings) -> list[int]:
    return [matched.index for _, found in sorted(bindings.labels.items()) for matched in found]


def _column(expression: Any, scopes: list[Scope]) -> object:  # noqa: ANN401  (an expression of the tree)
    values = [plain(single(evaluate(expression, scope))) for scope in scopes]
    return values[0] if all(value == values[0] for value in values) else MIXED


def plain(value: object) -> object:
    """A value as a column shows it."""
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _instructions(plan: MotifPlan, kernel: Kernel, bindings: Bindings) -> dict[str, tuple[Instruction, ...]]:
    return {
        line.label: tuple(Instruction(kernel, matched.index) for matched in bindings.labels[line.label])
        for line in plan.all_lines()
        if line.named
    }
