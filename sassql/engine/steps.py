"""Steps of a repetition, and the graph that links them.

A step is one way to satisfy the body. An edge goes from a step to those whose plain values are
its primed ones; in a `for` the counter has to go on as the header says, in a `chain` names
that are fixed have to be the same ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sassql.engine.bindings import Bindings, Bound, Occurrences, unify
from sassql.engine.budget import Budget
from sassql.engine.plan import Conjunction, RepeatAtom
from sassql.engine.values import Unit
from sassql.facts.addresses import Address
from sassql.facts.alias import Answer, must_equal
from sassql.lang.ast import For
from sassql.lang.fold import STEPS, fold


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its bindings, the branch of `either` that it took, and its counter if it is a rung."""

    bindings: Bindings
    variant: Conjunction
    counter: int | None = None
    places: tuple[int, ...] = field(init=False)
    """The instructions of the step, by label."""

    def __post_init__(self) -> None:
        labels = sorted(self.bindings.labels.items())
        object.__setattr__(self, "places", tuple(m.index for _, found in labels for m in found))

    def bound(self, key: str) -> Bound | None:
        """What a name of the text is in this step."""
        return self.bindings.names.get(self.variant.names.get(key, key))

    def value(self, key: str) -> Occurrences:
        """The occurrences of a value; none where it is not bound."""
        found = self.bound(key)
        return found if isinstance(found, tuple) else ()


@dataclass(slots=True)
class StepGraph:
    """Steps with their successors, by number."""

    atom: RepeatAtom
    steps: Sequence[Step]
    successors: list[list[int]] = field(default_factory=list)
    _order: list[int] | None = None
    _sorted: bool = False
    _masks: list[int] = field(default_factory=list)
    _numbers: dict[int, int] = field(default_factory=dict)
    _ends: dict[str, frozenset[Unit]] = field(default_factory=dict)

    def link(self, budget: Budget, exhaustive: bool) -> None:
        """Find the edges; ``exhaustive`` compares every pair of steps."""
        index: dict[object, list[int]] = {}
        if not exhaustive and self.atom.carried:
            for number, step in enumerate(self.steps):
                for unit in dict.fromkeys(u for o in step.value(self.atom.carried[0]) for u in o):
                    index.setdefault(unit, []).append(number)
        everything = range(len(self.steps))
        for number, step in enumerate(self.steps):
            places: Sequence[int] = everything
            if not exhaustive and self.atom.carried:
                made = dict.fromkeys(u for o in step.value(f"{self.atom.carried[0]}'") for u in o)
                places = sorted({n for unit in made for n in index.get(unit, ())})
            self.successors.append(
                [n for n in places if n != number and self._follows(step, self.steps[n], budget)]
            )

    def _follows(self, step: Step, following: Step, budget: Budget) -> bool:
        """The glue: every primed value of ``step`` is the plain value of ``following``."""
        budget.step(self.atom.line)
        if step.counter is not None and following_counter(self.atom, step.counter) != following.counter:
            return False
        for name in self.atom.carried:
            made, read = step.value(f"{name}'"), following.value(name)
            if not made or not read or unify(made, read) is None:
                return False
        if step.counter is None:
            return all(same_bound(step.bound(n), following.bound(n)) for n in self.atom.fixed)
        return True

    def beyond(self, step: Step) -> tuple[int, int]:
        """The number of a step, and those of all that can follow it, directly or later, as a mask."""
        if not self._masks:
            self._masks = [0] * len(self.steps)
            for number in reversed(self.order() or []):
                for following in self.successors[number]:
                    self._masks[number] |= self._masks[following] | 1 << following
            self._numbers = {id(known): number for number, known in enumerate(self.steps)}
        number = self._numbers[id(step)]
        return number, self._masks[number]

    def may_begin(self, bindings: Bindings, prime: str) -> bool:
        """False where no step has the values that are bound outside for one end: a cheap first test."""
        for name in self.atom.carried:
            known = bindings.value(self.atom.outer[f"{name}{prime}"])
            if known:
                units = self._at_end(f"{name}{prime}")
                if not any(unit in units for occurrence in known for unit in occurrence):
                    return False
        return True

    def _at_end(self, key: str) -> frozenset[Unit]:
        if key not in self._ends:
            self._ends[key] = frozenset(u for step in self.steps for o in step.value(key) for u in o)
        return self._ends[key]

    def order(self) -> list[int] | None:
        """Step numbers so that each comes before its successors; None where steps form a cycle."""
        if not self._sorted:
            self._sorted = True
            self._order = self._topological()
        return self._order

    def _topological(self) -> list[int] | None:
        waiting = [0] * len(self.steps)
        for places in self.successors:
            for place in places:
                waiting[place] += 1
        ready = [number for number, count in enumerate(waiting) if not count]
        found: list[int] = []
        while ready:
            number = ready.pop()
            found.append(number)
            for place in self.successors[number]:
                waiting[place] -= 1
                if not waiting[place]:
                    ready.append(place)
        return found if len(found) == len(self.steps) else None


def same_bound(left: Bound | None, right: Bound | None) -> bool:
    """True where two names stand for one thing; two addresses for the same bytes."""
    if isinstance(left, Address) and isinstance(right, Address):
        return must_equal(left, right).answer is Answer.YES
    return left == right


def following_counter(atom: RepeatAtom, counter: int) -> int | float | None:
    """The counter of the next rung."""
    assert isinstance(atom.block, For)
    by = fold(atom.block.step, {})
    assert isinstance(by, int)
    return STEPS[atom.block.operator](counter, by)


def header_holds(atom: RepeatAtom, counter: int, known: Mapping[str, int]) -> bool | None:
    """Whether the condition of a `for` holds for a counter."""
    assert isinstance(atom.block, For)
    found = fold(atom.block.condition, {**known, atom.block.counter.key: counter})
    return None if found is None else bool(found)
