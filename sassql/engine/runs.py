"""`for` blocks: steps are found like any conjunction of lines, then linked to maximal runs.

The step graph has an edge where the primed values of one step are the plain values of another
one and the counter goes on as the header says. A run is a path from a step without predecessor
to one without successor: a whole ladder of the machine code, never a part of it. It counts if
it begins where the header says, every counter fulfils the condition, and the next one does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sassql.engine.bindings import Bindings, Matched, Occurrences, unify
from sassql.engine.budget import Budget
from sassql.engine.expressions import Scope, truth
from sassql.engine.plan import LinePlan, RunPlan
from sassql.engine.view import View
from sassql.lang.ast import Binary, Expression, Literal, Membership, Name, Sigil, Where
from sassql.lang.fold import STEPS, fold
from sassql.lang.walk import parts

Satisfy = Callable[[Sequence[LinePlan], View, Bindings, Budget], Iterator[Bindings]]


@dataclass(frozen=True, slots=True)
class Step:
    """One rung: its bindings and its counter."""

    bindings: Bindings
    counter: int


class Runs:
    """The runs of one `for` block in one kernel."""

    def __init__(self, plan: RunPlan, view: View, satisfy: Satisfy, budget: Budget) -> None:
        self._plan = plan
        self._view = view
        self._budget = budget
        self._by = fold(plan.block.step, {})
        self.steps = tuple(self._found_steps(satisfy))
        self.runs = tuple(self._paths())

    def _found_steps(self, satisfy: Satisfy) -> Iterator[Step]:
        counter = self._inner(self._plan.block.counter.key)
        seen = set[str]()
        for found in satisfy(self._plan.lines, self._view, Bindings(), self._budget):
            number = found.integers.get(counter)
            if number is None or not self._holds(found):
                continue
            identity = found.identity()
            if identity not in seen:
                seen.add(identity)
                yield Step(found, number)

    def _holds(self, found: Bindings) -> bool:
        scope = Scope(found, self._view.kernel, grouped=frozenset(), aliases=self._plan.aliases)
        return all(truth(where.condition, scope) is True for where in self._plan.conditions)

    def _inner(self, key: str) -> str:
        return self._plan.aliases.get(key, key)

    def _next(self, counter: int) -> int | float | None:
        assert isinstance(self._by, int)
        return STEPS[self._plan.block.operator](counter, self._by)

    def _follows(self, step: Step, following: Step) -> bool:
        """The glue: every primed value of ``step`` is the plain value of ``following``."""
        self._budget.step(self._plan.block.at.line)
        for name in self._plan.carried:
            made = step.bindings.values.get(self._inner(f"{name}'"))
            read = following.bindings.values.get(self._inner(name))
            if made is None or read is None or unify(made, read) is None:
                return False
        return True

    def _paths(self) -> Iterator[tuple[Step, ...]]:
        """Every maximal path of the step graph."""
        by_counter: dict[int, list[int]] = {}
        for number, step in enumerate(self.steps):
            by_counter.setdefault(step.counter, []).append(number)
        successors: list[list[int]] = []
        for number, step in enumerate(self.steps):
            following = self._next(step.counter)
            places = by_counter.get(following, []) if isinstance(following, int) else []
            successors.append([n for n in places if n != number and self._follows(step, self.steps[n])])
        reached = {n for places in successors for n in places}
        for start in range(len(self.steps)):
            if start not in reached:
                yield from self._walk((start,), successors)

    def _walk(self, path: tuple[int, ...], successors: Sequence[Sequence[int]]) -> Iterator[tuple[Step, ...]]:
        self._budget.step(self._plan.block.at.line)
        onward = [n for n in successors[path[-1]] if n not in path]
        if not onward:
            yield tuple(self.steps[n] for n in path)
        for number in onward:
            yield from self._walk((*path, number), successors)

    def extend(
        self, bindings: Bindings, conditions: Sequence[Where], aliases: Mapping[str, str]
    ) -> Iterator[Bindings]:
        """``bindings`` with each run that agrees with them; ``aliases`` are those of the motif."""
        for run in self.runs:
            self._budget.step(self._plan.block.at.line)
            placed = self._placed(run, bindings, aliases)
            if placed is not None:
                yield from self._counted(run, placed, conditions)

    def _placed(self, run: Sequence[Step], bindings: Bindings, aliases: Mapping[str, str]) -> Bindings | None:
        """Names, labels and lists of a run in the bindings of the motif."""
        found: Bindings | None = bindings
        for name in self._plan.carried:
            for key, step in ((name, run[0]), (f"{name}'", run[-1])):
                occurrences: Occurrences = step.bindings.values[self._inner(key)]
                found = found and found.with_occurrences(aliases.get(key, key), occurrences)
        for name in sorted(self._plan.fixed):
            for step in run:
                found = found and self._with_fixed(found, step, name, aliases.get(name, name))
        if found is None:
            return None
        labels: dict[str, tuple[Matched, ...]] = {}
        for label in self._plan.labels:
            labels[label] = tuple(m for step in run for m in step.bindings.labels[label])
        used = [m.index for matched in labels.values() for m in matched]
        if len(set(used)) < len(used) or any(bindings.uses(index) for index in used):
            return None
        return replace(found, labels={**found.labels, **labels}, lists={**found.lists, **self._lists(run)})

    def _with_fixed(self, found: Bindings, step: Step, name: str, outer: str) -> Bindings | None:
        inner = self._inner(name)
        if name.startswith(Sigil.VALUE.value):
            return found.with_occurrences(outer, step.bindings.values[inner])
        return found.with_integer(outer, step.bindings.integers[inner])

    def _lists(self, run: Sequence[Step]) -> dict[str, tuple[object, ...]]:
        """What each name of the block was on each rung."""
        lists: dict[str, tuple[object, ...]] = {}
        for key in {**run[0].bindings.values, **run[0].bindings.integers}:
            held = [step.bindings.values.get(key, step.bindings.integers.get(key)) for step in run]
            lists[key] = tuple(held)
        return lists

    def _counted(
        self, run: Sequence[Step], bindings: Bindings, conditions: Sequence[Where]
    ) -> Iterator[Bindings]:
        """The bindings for which the header says exactly this run."""
        known = bindings.integers
        unknown = [key for key in self._plan.unknowns() if key not in known]
        if not unknown:
            if self._is_complete(run, known):
                yield bindings
            return
        key = unknown[0]
        for number in self._trials(key, run, conditions):
            self._budget.step(self._plan.block.at.line)
            if self._is_complete(run, {**known, key: number}):
                integers = {**known, key: number}
                yield replace(bindings, integers=integers, solved=bindings.solved | {key})

    def _is_complete(self, run: Sequence[Step], known: Mapping[str, int]) -> bool:
        """The run begins as the header says, the condition holds on every rung and not behind the last."""
        block = self._plan.block
        counter = block.counter.key
        if fold(block.init, known) != run[0].counter:
            return False
        if not all(fold(block.condition, {**known, counter: step.counter}) is True for step in run):
            return False
        following = self._next(run[-1].counter)
        return not isinstance(following, int) or fold(block.condition, {**known, counter: following}) is False

    def _trials(self, key: str, run: Sequence[Step], conditions: Sequence[Where]) -> list[int]:
        """Values to try for an integer that only the header mentions, smallest first.

        The numbers that a `where … in {…}` lists; and numbers near the counters of the run, times
        and plus the numbers in the header, which cover headers of the usual forms.
        """
        listed = [number for where in conditions for number in _listed(key, where.condition)]
        if listed:
            return sorted(set(listed))
        last = self._next(run[-1].counter)
        near = {run[0].counter, run[-1].counter, *([last] if isinstance(last, int) else [])}
        block = self._plan.block
        numbers = {
            part.value
            for e in (block.init, block.condition)
            for part in parts(e)
            if isinstance(part, Literal)
        }
        whole = {n for n in numbers if isinstance(n, int)} | {1}
        found = {value for a in near for n in whole for value in (a * n, a + n, a - n, a, *_quotients(a, n))}
        return sorted(found | {value + 1 for value in found} | {value - 1 for value in found})


def _quotients(value: int, by: int) -> tuple[int, ...]:
    return (value // by,) if by else ()


def _listed(key: str, condition: Expression) -> list[int]:
    """Numbers of ``#n in {…}``, if the condition says that and cannot hold otherwise."""
    match condition:
        case Membership(item=Name(key=name), choices=choices) if name == key:
            return [c.value for c in choices if isinstance(c, Literal) and isinstance(c.value, int)]
        case Binary(operator="and", left=left, right=right):
            return [*_listed(key, left), *_listed(key, right)]
    return []
