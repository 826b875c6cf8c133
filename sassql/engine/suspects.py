"""Which single statement keeps a motif from a match: the search is repeated without each one.

line 9 alone stops it: without it there would be a match at 0x01c0
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sassql.engine.bindings import Bindings
from sassql.engine.budget import Budget, OutOfStepsError
from sassql.engine.plan import (
    Atom,
    BorderAtom,
    CarryAtom,
    Conjunction,
    EveryAtom,
    LineAtom,
    LoopAtom,
    OrderAtom,
    PathAtom,
    Scope,
    ScopeAtom,
    WhereAtom,
)
from sassql.engine.solve import Solver, Strategy
from sassql.engine.view import View
from sassql.model.instruction import Instruction

_MOST_STEPS = 40_000
"""Of each repeated search: what takes longer is no suspect, since nobody knows."""
_KEPT = (LoopAtom, CarryAtom, BorderAtom)
"""They come from the block around the statements, not from a statement of their own."""

_SPEAKING = (OrderAtom, PathAtom, WhereAtom, ScopeAtom, EveryAtom)
"""They speak of labels that a line binds."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A statement without which there is a match: its line, and the instructions of that match."""

    line: int
    instructions: tuple[Instruction, ...]


def suspects(scope: Scope, view: View, strategy: Strategy) -> tuple[Suspect, ...]:
    """Every statement that alone keeps a scope from being satisfied, in the order of the text."""
    found: dict[int, Suspect] = {}
    for variant in scope.variants:
        for atom in dict.fromkeys((*variant.atoms, *variant.late)):
            if isinstance(atom, _KEPT) or atom.line in found:
                continue
            rest = _without(variant, atom)
            match = None if rest is None else _first(rest, view, strategy)
            if match is not None:
                found[atom.line] = Suspect(atom.line, _instructions(match, view))
    return tuple(found[line] for line in sorted(found))


def _first(conjunction: Conjunction, view: View, strategy: Strategy) -> Bindings | None:
    """A derivation of a conjunction; None where there is none, or none was found in time."""
    if not any(isinstance(atom, LineAtom) for atom in conjunction.atoms):
        return None
    solver = Solver(view, strategy, Budget(_MOST_STEPS))
    try:
        return next(iter(solver.conjunction(conjunction, Bindings())), None)
    except OutOfStepsError:
        return None


def _without(conjunction: Conjunction, atom: Atom) -> Conjunction | None:
    """A conjunction without an atom; None where another statement speaks of the label that it binds."""
    gone = {atom.label} if isinstance(atom, LineAtom) else set[str]()
    others = [a for a in (*conjunction.atoms, *conjunction.late) if a is not atom]
    if any(isinstance(a, _SPEAKING) and not gone.isdisjoint(a.keys) for a in others):
        return None
    needed = tuple(line for line in conjunction.needed if line is not atom)
    return replace(
        conjunction,
        atoms=tuple(_unlabelled(a, gone) for a in conjunction.atoms if a is not atom),
        late=tuple(a for a in conjunction.late if a is not atom),
        chains=tuple(chain for chain in conjunction.chains if chain is not atom),
        needed=needed,
        matchers=frozenset(line.matcher for line in needed),
        outlines=[],  # what a plan remembers of itself is made anew
    )


def _unlabelled(atom: Atom, gone: set[str]) -> Atom:
    """A loop that no longer has to hold what is gone; any other atom as it is."""
    if not isinstance(atom, LoopAtom):
        return atom
    return replace(atom, labels=tuple(label for label in atom.labels if label not in gone))


def _instructions(found: Bindings, view: View) -> tuple[Instruction, ...]:
    indices = sorted({m.index for matched in found.labels.values() for m in matched})
    return tuple(view.kernel.instructions[index] for index in indices)
