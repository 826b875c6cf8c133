"""A search that is watched: how far it came, and how many ways each statement left.

Both `sassql plan` and `sassql explain` look at what is recorded here; the search itself is the
engine's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sassql.engine.bindings import Bindings
from sassql.engine.budget import Budget
from sassql.engine.indexed import Indexed
from sassql.engine.plan import Again, Atom, Conjunction, LineAtom, UseAtom
from sassql.engine.readiness import binds
from sassql.engine.solve import Solver, Strategy
from sassql.engine.turns import Turns
from sassql.engine.uses import use_rows
from sassql.engine.view import View

_LAST = 1e11


@dataclass(slots=True)
class Progress:
    """One conjunction in one order. ``ways[n]`` are the derivations that the first n atoms left.

    ``deepest`` is the first derivation that came furthest, ``reached`` how many atoms it satisfies.
    """

    conjunction: Conjunction
    atoms: Sequence[Atom]
    ways: list[int]
    estimates: list[float] = field(default_factory=list)
    reached: int = -1
    deepest: Bindings = field(default_factory=Bindings)

    @property
    def failing(self) -> Atom | None:
        """The atom that the deepest derivation does not satisfy; None where it satisfies all."""
        return self.atoms[self.reached] if 0 <= self.reached < len(self.atoms) else None

    @property
    def share(self) -> float:
        """The part of the atoms that the deepest derivation satisfies."""
        return self.reached / len(self.atoms) if self.atoms else 1.0


class WatchedSolver(Solver):
    """Solves as ever; ``through`` restricts the deepest derivations to those with this instruction."""

    def __init__(self, view: View, strategy: Strategy, budget: Budget, through: int | None = None) -> None:
        super().__init__(view, strategy, budget)
        self.watched = True
        self.through = through
        self._progress: dict[int, Progress] = {}
        self._of: dict[int, list[Progress]] = {}

    def progress(self, conjunction: Conjunction) -> Progress | None:
        """The order of a conjunction that came furthest; None where it was never tried."""
        found = self._of.get(id(conjunction), [])
        return max(found, key=lambda p: p.reached, default=None)

    def conjunction(self, conjunction: Conjunction, bindings: Bindings) -> Iterator[Bindings]:
        known = set(self._orders)
        found = super().conjunction(conjunction, bindings)
        for key in self._orders.keys() - known:
            turns = self._orders[key]
            atoms = turns.complete()
            made = Progress(conjunction, atoms, [0] * (len(atoms) + 1))
            made.estimates = estimates(atoms, self.view, key[1])
            self._progress[id(turns)] = made
            self._of.setdefault(id(conjunction), []).append(made)
        return found

    def saw(self, turns: Turns, place: int, bindings: Bindings) -> None:
        progress = self._progress.get(id(turns))
        if progress is not None:
            progress.ways[place] += 1
            if place > progress.reached and self._counts(bindings):
                progress.reached, progress.deepest = place, bindings

    def _counts(self, bindings: Bindings) -> bool:
        return self.through is None or bindings.uses_instruction(self.through)


def estimates(atoms: Sequence[Atom], view: View, bound: frozenset[str]) -> list[float]:
    """What the planner expects each atom of an order to leave, checks as 1."""
    planner = Indexed()
    known = set(bound)
    found: list[float] = []
    for atom in atoms:
        cost = 1.0 if isinstance(atom, Again) else planner.cost(atom, view, known)
        found.append(cost if cost > 0 else 1.0)
        known |= binds(atom)
    return found


class PatientView(View):
    """A kernel in which nothing is ruled out beforehand: an explanation looks at what the rest does."""

    def excludes(self, conjunction: Conjunction) -> bool:
        """Never."""
        return False


class Patient(Indexed):
    """The planner's order, but what can hold nowhere comes last: so a search comes as far as it can."""

    def __init__(self, solver_budget: int) -> None:
        self._budget = solver_budget

    def cost(self, atom: Atom, view: View, known: set[str]) -> float:
        """As the planner has it; an atom without any candidate is the dearest."""
        if isinstance(atom, LineAtom) and not view.candidates(atom):
            return _LAST
        if isinstance(atom, UseAtom) and self._is_empty(atom, view):
            return _LAST
        return super().cost(atom, view, known)

    def _is_empty(self, atom: UseAtom, view: View) -> bool:
        solver = Solver(view, self, Budget(self._budget))
        return next(iter(use_rows(atom, solver, Bindings())), None) is None
