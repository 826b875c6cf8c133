"""The faster way to satisfy lines: the rarest line first, then lines that share a bound name, by look-up.

It finds what `naive` finds, perhaps in another order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sassql.engine.bindings import Bindings
from sassql.engine.budget import Budget
from sassql.engine.plan import LinePlan, Slot
from sassql.engine.values import Unit
from sassql.engine.view import Candidate, View

Index = dict[Unit, list[Candidate]]


class Lookup:
    """For each line and each slot of it, candidates by the value that they have there."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._indices: dict[tuple[int, Slot], Index] = {}

    def candidates(self, line: LinePlan, bindings: Bindings) -> Sequence[Candidate]:
        """A superset of the candidates that agree with ``bindings``; in address order."""
        best: Sequence[Candidate] | None = None
        for slot in line.slots:
            occurrences = bindings.values.get(slot.key)
            if occurrences is None:
                continue
            index = self._index(line, slot)
            found = _merged([index.get(unit, []) for unit in occurrences[0]])
            if best is None or len(found) < len(best):
                best = found
        return self._view.candidates(line) if best is None else best

    def _index(self, line: LinePlan, slot: Slot) -> Index:
        key = (id(line), slot)
        index = self._indices.get(key)
        if index is None:
            index = self._indices[key] = {}
            for candidate in self._view.candidates(line):
                for unit in dict.fromkeys(self._view.units(slot, candidate) or ()):
                    index.setdefault(unit, []).append(candidate)
        return index


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
            key=lambda line: (bound.isdisjoint(line.value_keys), len(view.candidates(line))),
        )
        waiting.remove(best)
        found.append(best)
        bound |= best.value_keys
    return found
