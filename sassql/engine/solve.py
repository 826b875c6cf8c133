"""Satisfies conjunctions: atom by atom, each extends the bindings or refuses them.

The order of the atoms, and how candidates are looked up, is the strategy's: `naive` tries
everything in the order of the text, `indexed` the cheapest first. What an atom means is
said here and in the modules that it calls, once for both.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from sassql.engine.bindings import Bindings, bound_keys
from sassql.engine.budget import Budget
from sassql.engine.earliest import Earliest
from sassql.engine.expressions import Scope as ExpressionScope
from sassql.engine.expressions import truth
from sassql.engine.lines import Candidate
from sassql.engine.looping import border, carried, loops
from sassql.engine.negation import absent, every, optional
from sassql.engine.plan import (
    Again,
    Atom,
    BorderAtom,
    CarryAtom,
    Conjunction,
    EveryAtom,
    FirstAtom,
    FlowAtom,
    LineAtom,
    LoopAtom,
    OrderAtom,
    PathAtom,
    RepeatAtom,
    Scope,
    ScopeAtom,
    SliceAtom,
    UseAtom,
    WhereAtom,
)
from sassql.engine.relations import first_reached, flow, order, path, sliced, within
from sassql.engine.repeat import Repeats, maximal
from sassql.engine.survivors import is_worth_it, survivors
from sassql.engine.turns import Turns
from sassql.engine.uses import count_used, use_rows
from sassql.engine.view import View

_ANSWERED = 4
"""Steps of a question whose answer is known."""
UNKNOWN_CONDITION = "a condition is unknown"


class Strategy(Protocol):
    """How a conjunction is searched."""

    exhaustive: bool
    """Whether repetitions try every path, and flows are followed anew each time."""

    def order(self, conjunction: Conjunction, view: View, bound: frozenset[str]) -> Turns:
        """The atoms in the order in which they are evaluated."""
        ...

    def candidates(self, line: LineAtom, view: View, bindings: Bindings) -> Sequence[Candidate]:
        """A superset of the places where a line may lie, in address order."""
        ...


class Solver:
    """Evaluates the scopes of one motif in one kernel."""

    def __init__(self, view: View, strategy: Strategy, budget: Budget) -> None:
        self.view = view
        self.strategy = strategy
        self.budget = budget
        self._orders: dict[tuple[int, frozenset[str]], Turns] = {}
        self._repeats: dict[int, Repeats] = {}
        self.earliest: dict[int, Earliest] = {}
        """By branch of the motif (its `id`), where only the first derivation counts."""
        self.watched = False
        view.count_used = lambda plan: count_used(plan, self)
        self._asked: set[Hashable] = set()
        self.in_turn: dict[tuple[int, str], list[int]] = {}
        """Values in the order in which a name that only flows bind may be each."""
        self.claimed: dict[int, frozenset[int]] = {}
        """By claim without names, the instructions that it speaks of."""

    def charge(self, line: int, asked: Hashable, work: int) -> None:
        """Count the work of a question; asked again, it is remembered and costs next to nothing."""
        if asked in self._asked:
            self.budget.step(line, _ANSWERED)
        else:
            self._asked.add(asked)
            self.budget.step(line, _ANSWERED + work)

    def solve(self, scope: Scope, bindings: Bindings) -> Iterator[Bindings]:
        """Every way to satisfy a scope that agrees with ``bindings``; the first branches first."""
        for number, variant in enumerate(scope.variants):
            if not self.watched and self.view.excludes(variant):
                continue
            yield from self.conjunction(variant, bindings.on_branch(number))

    def conjunction(self, conjunction: Conjunction, bindings: Bindings) -> Iterator[Bindings]:
        """Every way to satisfy a conjunction."""
        key = (id(conjunction), bound_keys(bindings))
        order = self._orders.get(key)
        if order is None:
            order = self._orders[key] = self.strategy.order(conjunction, self.view, key[1])
            order.earliest = self.earliest.get(id(conjunction))
        found = self._extend(order, 0, bindings)
        if not conjunction.late and not conjunction.chains:
            return found
        return self._finished(conjunction, found)

    def _extend(self, turns: Turns, place: int, bindings: Bindings) -> Iterator[Bindings]:
        """Every way to satisfy the atoms from ``place`` on; those that bind nothing in one go."""
        atoms, total = turns.found, turns.total
        while place < total:
            if place == len(atoms):
                turns.go_on()
            if self.watched:
                self.saw(turns, place, bindings)
            atom = atoms[place]
            check = _CHECKS.get(type(atom))
            if check is None or (isinstance(atom, ScopeAtom) and atom.kind == "opt"):
                break
            extended = check(atom, self, bindings)
            if extended is None:
                return
            bindings = extended
            place += 1
        else:
            if self.watched:
                self.saw(turns, place, bindings)
            if turns.earliest is None or not turns.earliest.is_late(bindings):
                yield bindings
            return
        if isinstance(atom, LineAtom):
            ways = self._laid(turns, place, atom, bindings)
        else:
            ways = self._atom(atom, bindings)
        place += 1
        earliest = turns.earliest
        for extended in ways:
            if earliest is None or not earliest.is_late(extended):
                yield from self._extend(turns, place, extended)

    def saw(self, turns: Turns, place: int, bindings: Bindings) -> None:
        """``bindings`` satisfy the first ``place`` atoms: for those who watch."""

    def _finished(self, conjunction: Conjunction, found: Iterator[Bindings]) -> Iterator[Bindings]:
        """Only maximal chains; then conditions on lists, and of integers that solve a header the smallest."""
        kept: Iterable[Bindings] = found
        for chain in conjunction.chains:
            kept = maximal(chain, list(kept))
        ordered = sorted(kept, key=_by_solved) if conjunction.late else kept
        seen: set[Hashable] = set()
        for bindings in ordered:
            identity = bindings.identity() if bindings.solved else None
            if identity is not None and identity in seen:
                continue
            passed: Bindings | None = bindings
            for condition in conjunction.late:
                passed = passed and self.where(condition, passed)
            if passed is not None:
                seen.add(identity)
                yield passed

    def _atom(self, atom: Atom, bindings: Bindings) -> Iterator[Bindings]:
        """Every extension of ``bindings`` with which an atom holds."""
        match atom:
            case LineAtom():
                return self.lay(atom, bindings)
            case FlowAtom():
                return flow(atom, self, bindings)
            case UseAtom():
                return use_rows(atom, self, bindings)
            case RepeatAtom():
                return self.repeats(atom).extend(bindings)
            case CarryAtom():
                return carried(atom, self.view, bindings, self.budget)
            case LoopAtom():
                return loops(atom, self.view, bindings, self.budget)
            case BorderAtom():
                return border(atom, self.view, bindings, self.budget)
            case FirstAtom():
                return first_reached(atom, self, bindings)
            case ScopeAtom():
                return optional(atom, self, bindings)
            case Again(atom=again):
                if isinstance(again, LoopAtom) or any(len(bindings.value(key)) > 1 for key in again.keys):
                    check = _CHECKS.get(type(again))
                    if check is None:
                        return self._atom(again, bindings)
                    extended = check(again, self, bindings)
                    return iter(() if extended is None else (extended,))
                return iter((bindings,))
        raise TypeError(f"no meaning for {type(atom).__name__}")

    def _laid(self, turns: Turns, place: int, atom: LineAtom, bindings: Bindings) -> Iterator[Bindings]:
        """Every way to lay a line at its turn; where it pays, without those that cannot go on."""
        candidates = self._candidates(atom, bindings)
        if self.strategy.exhaustive or self.watched:
            return self._on(atom, candidates, bindings)
        candidates = within(turns.sliced(place), candidates, self, bindings)
        if is_worth_it(candidates):
            left = survivors(turns, place, bindings)
            if left.is_useful:
                candidates = left.of(candidates, bindings, self)
        return self._on(atom, candidates, bindings)

    def _candidates(self, atom: LineAtom, bindings: Bindings) -> Sequence[Candidate]:
        candidates = self.strategy.candidates(atom, self.view, bindings)
        left = self.view.restricted.get(id(atom)) if self.view.restricted else None
        return candidates if left is None else [c for c in candidates if c in left]

    def _on(self, atom: LineAtom, candidates: Sequence[Candidate], bindings: Bindings) -> Iterator[Bindings]:
        cost = 3 + len(atom.slots)
        for candidate in candidates:
            self.budget.step(atom.line, cost)
            extended = self.view.lay(atom, candidate, bindings)
            if extended is not None:
                yield extended

    def lay(self, atom: LineAtom, bindings: Bindings) -> Iterator[Bindings]:
        """Every way to lay one line."""
        return self._on(atom, self._candidates(atom, bindings), bindings)

    def where(self, atom: WhereAtom, bindings: Bindings) -> Bindings | None:
        """``bindings`` where a condition holds, with a doubt where that is unknown."""
        self.budget.step(atom.line, atom.weight)
        holds = truth(atom.condition, ExpressionScope(bindings, self.view, atom.names))
        if holds is None:
            return bindings.with_doubt(UNKNOWN_CONDITION)
        return bindings if holds else None

    def repeats(self, atom: RepeatAtom) -> Repeats:
        """The runs of a repetition, found once."""
        found = self._repeats.get(id(atom))
        if found is None:
            found = self._repeats[id(atom)] = Repeats(atom, self)
        return found


_CHECKS: dict[type[Atom], Callable[[Any, Solver, Bindings], Bindings | None]] = {
    WhereAtom: lambda atom, solver, bindings: solver.where(atom, bindings),
    OrderAtom: order,
    PathAtom: path,
    SliceAtom: sliced,
    ScopeAtom: absent,
    EveryAtom: every,
}
"""Atoms that bind no name: ``bindings`` where they hold, with a doubt where that is unknown."""


def _by_solved(bindings: Bindings) -> tuple[list[int], list[int]]:
    solved = [bindings.names[key] for key in sorted(bindings.solved)]
    return places(bindings), [number for number in solved if isinstance(number, int)]


def places(bindings: Bindings) -> list[int]:
    """Instruction numbers by label: the order of derivations."""
    return [matched.index for _, found in sorted(bindings.labels.items()) for matched in found]
