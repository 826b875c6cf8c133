"""The faster way to satisfy lines: the rarest line first, then lines that share a bound name, by look-up.

It finds what `naive` finds, perhaps in another order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sassql.engine.bindings import Bindings
from sassql.engine.budget import Budget
from sassql.engine.plan import LinePlan
from sassql.engine.values import Unit
from sassql.engine.view import Candidate, View
from sassql.lang.ast import GuardPattern, IntegerOperand, Name, ValueOperand
from sassql.lang.walk import line_names

Index = dict[Unit, list[Candidate]]


class Lookup:
    """For each line and each value name of it, candidates by what they have in that place."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._indices: dict[tuple[int, str], Index] = {}

    def candidates(self, line: LinePlan, bindings: Bindings) -> Sequence[Candidate]:
        """A superset of the candidates that agree with ``bindings``; in address order."""
        best: Sequence[Candidate] | None = None
        for name in line_names(line.line):
            occurrences = bindings.values.get(line.key(name))
            if occurrences is None:
                continue
            index = self._index(line, name)
            found = _merged([index.get(unit, []) for unit in occurrences[0]])
            if best is None or len(found) < len(best):
                best = found
        return self._view.candidates(line) if best is None else best

    def _index(self, line: LinePlan, name: Name) -> Index:
        key = (id(line), name.key)
        index = self._indices.get(key)
        if index is None:
            index = self._indices[key] = {}
            for candidate in self._view.candidates(line):
                for unit in dict.fromkeys(self._units(line, name, candidate)):
                    index.setdefault(unit, []).append(candidate)
        return index

    def _units(self, line: LinePlan, name: Name, candidate: Candidate) -> Iterator[Unit]:
        """Units of every operand of ``candidate`` that stands for ``name``."""
        match line.line.guard:
            case GuardPattern(predicate=Name(key=key)) if key == name.key:
                yield from self._view.values.guard(candidate.index) or ()
        for wanted, place in zip(line.line.operands, candidate.fit.places, strict=True):
            if isinstance(wanted.core, ValueOperand) and wanted.core.name.key == name.key:
                yield from self._view.values.units(candidate.index, place) or ()


def _merged(lists: list[list[Candidate]]) -> list[Candidate]:
    if len(lists) == 1:
        return lists[0]
    unique = {id(candidate): candidate for found in lists for candidate in found}
    return sorted(unique.values(), key=lambda candidate: candidate.index)


def satisfy(lines: Sequence[LinePlan], view: View, bindings: Bindings, budget: Budget) -> Iterator[Bindings]:
    """Every way to lay all ``lines`` on instructions that agrees with ``bindings``."""
    yield from _extend(ordered(lines, view, bindings), view, Lookup(view), bindings, budget)


def _extend(
    lines: Sequence[LinePlan], view: View, lookup: Lookup, bindings: Bindings, budget: Budget
) -> Iterator[Bindings]:
    if not lines:
        yield bindings
        return
    first, others = lines[0], lines[1:]
    for candidate in lookup.candidates(first, bindings):
        budget.step(first.line.at.line)
        extended = view.lay(first, candidate, bindings)
        if extended is not None:
            yield from _extend(others, view, lookup, extended, budget)


def ordered(lines: Sequence[LinePlan], view: View, bindings: Bindings) -> list[LinePlan]:
    """Lines in the order of evaluation: connected to what is bound before others, rare before frequent."""
    bound = set(bindings.values)
    waiting = list(lines)
    found: list[LinePlan] = []
    while waiting:
        best = min(
            waiting,
            key=lambda line: (bound.isdisjoint(_value_keys(line)), len(view.candidates(line))),
        )
        waiting.remove(best)
        found.append(best)
        bound |= _value_keys(best)
    return found


def _value_keys(line: LinePlan) -> set[str]:
    integers = {o.core.name.key for o in line.line.operands if isinstance(o.core, IntegerOperand)}
    return {line.key(name) for name in line_names(line.line) if name.key not in integers}
