"""Derivations to rows: keys, emitted columns, order, status."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sassql.engine.bindings import Bindings
from sassql.engine.budget import OutOfStepsError
from sassql.engine.expressions import FUNCTIONS, Scope, evaluate
from sassql.engine.plan import KeyPart, MotifPlan
from sassql.engine.things import MIXED, Many, flat, plain, single
from sassql.engine.view import View
from sassql.lang.ast import Attribute, Binary, Call, Expression, Symbol, Unary
from sassql.model.instruction import Instruction
from sassql.model.kernel import Kernel
from sassql.model.rows import Row

Key = tuple[int, ...]
NOWHERE = -1
"""In a key: a label that is not bound."""


@dataclass(frozen=True, slots=True)
class Group:
    """The derivations of one row, the one that is shown first."""

    key: Key
    derivations: tuple[Bindings, ...]


def groups(plan: MotifPlan, derivations: Iterable[Bindings]) -> list[Group]:
    """Derivations by key, in the order of addresses.

    Certain ones go before others, the first branch of an `either` before the next one, then
    the lowest addresses.
    """
    found: dict[Key, list[Bindings]] = {}
    seen: dict[Hashable, tuple[Key, int]] = {}
    for bindings in derivations:
        identity = bindings.identity()
        if identity in seen:
            key, place = seen[identity]
            if found[key][place].doubts and not bindings.doubts:
                found[key][place] = bindings
            continue
        key = key_of(plan.key, bindings)
        derived = found.setdefault(key, [])
        seen[identity] = key, len(derived)
        derived.append(bindings)
    made = []
    for key, derived in found.items():
        derived.sort(key=lambda b: (bool(b.doubts), b.branches, _addresses(b)))
        made.append(Group(key, tuple(derived)))
    return sorted(made, key=lambda group: _order(group.key))


def _order(key: Key) -> tuple[int, ...]:
    return (min((index for index in key if index != NOWHERE), default=NOWHERE), *key)


def rows(plan: MotifPlan, view: View, found: Sequence[Group], doubt: str) -> list[Row]:
    """One row per group. ``doubt`` says why every row of this kernel is only a ``maybe``, or is empty."""
    scopes = [[_scope(plan, view, bindings) for bindings in group.derivations] for group in found]
    made = []
    for group, own in zip(found, scopes, strict=True):
        first = group.derivations[0]
        reason = doubt or (first.doubts[0] if first.doubts else "")
        columns = {column.name: _column(column.value, own) for column in plan.columns}
        for grouped in plan.grouped:
            shared = _place(grouped.per, first)
            rest = [
                s
                for g, s in zip(found, scopes, strict=True)
                if _place(grouped.per, g.derivations[0]) == shared
            ]
            for column in grouped.columns:
                columns[column.name] = plain(single(_aggregated(column.value, rest)))
        made.append(
            Row(
                motif=plan.motif.name,
                kernel=view.kernel,
                columns=columns,
                instructions=_instructions(plan, view.kernel, first),
                status="maybe" if reason else "match",
                reason=reason,
                order=_order(group.key),
            )
        )
    return made


def _scope(plan: MotifPlan, view: View, bindings: Bindings) -> Scope:
    return Scope(bindings, view, names_of(plan, bindings))


def names_of(plan: MotifPlan, bindings: Bindings) -> Mapping[str, str]:
    """How names of the motif are called in a derivation: that depends on its branches."""
    return plan.scope.variants[bindings.branches[0]].names


def gave_up(plan: MotifPlan, kernel: Kernel, error: OutOfStepsError) -> Row:
    """The row that says that a motif was not searched to the end."""
    motif = error.motif or plan.motif.name
    reason = f"motif {motif}: the budget of {error.limit} {error.what} ran out at line {error.line}"
    return Row(plan.motif.name, kernel, {}, {}, "gave_up", reason)


def key_of(parts: Sequence[KeyPart], bindings: Bindings) -> Key:
    """What makes two derivations one row."""
    found: list[int] = []
    for part in parts:
        match part.kind:
            case "loop":
                found.append(bindings.loops.get(part.name, NOWHERE))
            case "ends":
                chains = [_all(bindings, label) or (NOWHERE,) for label in part.labels]
                found += [*(chain[0] for chain in chains), *(chain[-1] for chain in chains)]
            case _ if part.name in bindings.uses:
                found += bindings.uses[part.name].order
            case _:
                found += _all(bindings, part.name) or (NOWHERE,)
    return tuple(found)


def _all(bindings: Bindings, label: str) -> Key:
    return tuple(matched.index for matched in bindings.labels.get(label, ()))


def _addresses(bindings: Bindings) -> list[int]:
    return [matched.index for _, found in sorted(bindings.labels.items()) for matched in found]


def _place(name: str, bindings: Bindings) -> object:
    """What rows have in common that `per NAME` puts together."""
    return bindings.loops.get(name, _all(bindings, name))


def column_values(plan: MotifPlan, view: View, group: Group) -> dict[str, object]:
    """The columns of a group, for a motif that uses this one."""
    scopes = [_scope(plan, view, bindings) for bindings in group.derivations]
    return {column.name: _column(column.value, scopes, show=False) for column in plan.columns}


def _column(expression: Expression, scopes: Sequence[Scope], *, show: bool = True) -> object:
    values = [single(evaluate(expression, scope)) for scope in scopes]
    shown = [plain(value) for value in values]
    if any(value != shown[0] for value in shown):
        return MIXED
    return shown[0] if show else values[0]


def _aggregated(expression: Expression, rows_: Sequence[Sequence[Scope]]) -> object:
    """An expression over the rows of a group: the outermost functions go over all of them."""
    match expression:
        case Call(function=Symbol(name="count"), arguments=()):
            return len(rows_)
        case Call(function=Symbol(name=name), arguments=arguments):
            given = [Many(tuple(flat(_of_row(a, scopes) for scopes in rows_))) for a in arguments]
            return FUNCTIONS[name](list(given))
        case Binary() | Unary() | Attribute():
            values = [single(_of_row(expression, scopes)) for scopes in rows_]
            return Many(tuple(values))
    return Many(tuple(_of_row(expression, scopes) for scopes in rows_))


def _of_row(expression: Expression, scopes: Sequence[Scope]) -> object:
    return evaluate(expression, scopes[0])


def _instructions(plan: MotifPlan, kernel: Kernel, bindings: Bindings) -> dict[str, tuple[Instruction, ...]]:
    found = {}
    for label in plan.labels:
        used = bindings.uses.get(label)
        places = _all(bindings, label) if used is None else used.at
        found[label] = tuple(Instruction(kernel, index) for index in places)
    return found
