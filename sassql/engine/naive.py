"""The obviously right way: every line everywhere, in the order of the text. The oracle of the faster one.

What it tries is everything: each candidate of each line, each path of a chain, each value for
a name that nothing binds. A condition is judged as soon as its names are bound, and a scope
that says what is not there when all that it shares with its surroundings is.
"""

from __future__ import annotations

from collections.abc import Sequence

from sassql.engine.bindings import Bindings
from sassql.engine.lines import Candidate
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
from sassql.engine.readiness import is_bound, is_check, outline
from sassql.engine.turns import Turns
from sassql.engine.view import View

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
    fixed = outline(conjunction)
    waiting = list(range(len(conjunction.atoms)))
    known = set(bound)
    found: list[Atom] = []

    def rank(number: int) -> int:
        atom = conjunction.atoms[number]
        if is_check(atom) or is_bound(atom, known):
            return -1
        return next(i for i, kinds in enumerate(_PHASES) if isinstance(atom, kinds))

    while waiting:
        ready = [number for number in waiting if fixed.needed[number] <= known] or waiting
        best = min(ready, key=rank)
        waiting.remove(best)
        found.append(conjunction.atoms[best])
        known |= fixed.bound[best]
    return [*found, *fixed.again]


class Naive:
    """Tries everything."""

    exhaustive = True

    def order(self, conjunction: Conjunction, view: View, bound: frozenset[str]) -> Turns:
        """The order of the text."""
        return Turns(in_turn(conjunction, bound))

    def candidates(self, line: LineAtom, view: View, bindings: Bindings) -> Sequence[Candidate]:
        """Everywhere."""
        return view.candidates(line)


NAIVE = Naive()
