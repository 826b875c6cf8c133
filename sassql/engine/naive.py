"""The obviously right way: every line everywhere, in the order of the text. The oracle of the faster one.

What it tries is everything: each candidate of each line, each path of a chain, each value for
a name that nothing binds. A condition is judged as soon as its names are bound, and a scope
that says what is not there when all that it shares with its surroundings is.
"""

from __future__ import annotations

from collections.abc import Sequence

from sassql.engine.bindings import Bindings
from sassql.engine.plan import (
    Atom,
    BorderAtom,
    CarryAtom,
    Conjunction,
    EveryAtom,
    FirstAtom,
    FlowAtom,
    LineAtom,
    LoopAtom,
    RepeatAtom,
    ScopeAtom,
    UseAtom,
)
from sassql.engine.readiness import binds, is_bound, is_check, once_more, requirements
from sassql.engine.view import Candidate, View

_PHASES: tuple[tuple[type[Atom], ...], ...] = (
    (LoopAtom,),
    (LineAtom,),
    (UseAtom,),
    (RepeatAtom,),
    (CarryAtom,),
    (BorderAtom,),
    (FirstAtom,),
    (FlowAtom,),
    (ScopeAtom, EveryAtom),
)


def in_turn(conjunction: Conjunction, bound: frozenset[str]) -> list[Atom]:
    """The atoms phase by phase, and in a phase by the text; loops once more at the end, as checks."""
    needed = requirements(conjunction)
    waiting = list(conjunction.atoms)
    known = set(bound)
    found: list[Atom] = []

    def rank(atom: Atom) -> int:
        if is_check(atom) or is_bound(atom, known):
            return -1
        return next(i for i, kinds in enumerate(_PHASES) if isinstance(atom, kinds))

    while waiting:
        ready = [atom for atom in waiting if needed[id(atom)] <= known] or waiting
        best = min(ready, key=rank)
        waiting.remove(best)
        found.append(best)
        known |= binds(best)
    return [*found, *once_more(conjunction)]


class Naive:
    """Tries everything."""

    exhaustive = True

    def order(self, conjunction: Conjunction, view: View, bound: frozenset[str]) -> Sequence[Atom]:
        """The order of the text."""
        return in_turn(conjunction, bound)

    def candidates(self, line: LineAtom, view: View, bindings: Bindings) -> Sequence[Candidate]:
        """Everywhere."""
        return view.candidates(line)


NAIVE = Naive()
