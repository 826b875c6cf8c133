"""Motifs with one row a kernel that only says "it is there": the search keeps to what that row shows.

Such a row shows the first of its derivations (certain ones before others, then the lowest addresses
in the order of the labels), and columns that are the same for all derivations of a branch. A
derivation that could only come later changes nothing, so it is not followed. The exhaustive engine
follows all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from sassql.engine.bindings import Bindings
from sassql.engine.plan import Atom, Conjunction, EveryAtom, LineAtom, MotifPlan, RepeatAtom, ScopeAtom
from sassql.lang.ast import Call, Expression, Name, Symbol
from sassql.lang.walk import parts


class Earliest:
    """The first derivation of one branch so far, and what may still come before it."""

    __slots__ = ("_certain", "_labels", "_perhaps")

    def __init__(self, conjunction: Conjunction) -> None:
        self._labels = sorted(a.label for a in conjunction.atoms if isinstance(a, LineAtom))
        self._certain: list[int] | None = None
        self._perhaps: list[int] | None = None

    def saw(self, bindings: Bindings) -> None:
        """A derivation was found."""
        found = [bindings.labels[label][0].index for label in self._labels]
        if bindings.doubts:
            self._perhaps = found if self._perhaps is None else min(found, self._perhaps)
        else:
            self._certain = found if self._certain is None else min(found, self._certain)

    def close(self) -> None:
        """An earlier branch has a certain derivation, and the branch makes no difference."""
        self._certain = [-1] * len(self._labels)

    def is_late(self, bindings: Bindings) -> bool:
        """True where no derivation that begins so can be the first one."""
        if self._certain is not None and self._is_beyond(bindings, self._certain):
            return True
        doubtful = bool(bindings.doubts) and self._perhaps is not None
        return doubtful and (self._certain is not None or self._is_beyond(bindings, self._perhaps or []))

    def _is_beyond(self, bindings: Bindings, best: list[int]) -> bool:
        for label, place in zip(self._labels, best, strict=True):
            laid = bindings.labels.get(label)
            if laid is None:
                return False
            if laid[0].index != place:
                return laid[0].index > place
        return True


def shows_first_only(plan: MotifPlan) -> bool:
    """True where a motif has one row a kernel that follows from the first derivations of its branches."""
    if plan.key or plan.grouped or plan.inputs or plan.outputs:
        return False
    if not all(_is_plain(variant) for variant in plan.scope.variants):
        return False
    return not any(_speaks_of_a_derivation(column.value) for column in plan.columns)


def is_same_for_branches(plan: MotifPlan) -> bool:
    """True where no column tells which branch was taken."""
    return not any(_is_bound(call) for column in plan.columns for call in _calls(column.value))


def _is_plain(variant: Conjunction) -> bool:
    """Whether each of its labels is one instruction, and nothing is judged when all are known."""
    if variant.late or variant.chains:
        return False
    return not any(_binds_lists(atom) for atom in variant.atoms)


def _binds_lists(atom: Atom) -> bool:
    return isinstance(atom, RepeatAtom | EveryAtom) or (isinstance(atom, ScopeAtom) and atom.kind == "opt")


def _speaks_of_a_derivation(column: Expression) -> bool:
    """Whether a column says more than which branch was taken, or something of the kernel."""
    asked = {id(part) for call in _calls(column) for part in call.arguments if _is_bound(call)}
    words = {id(call.function) for call in _calls(column)}
    for part in parts(column):
        if isinstance(part, Name):
            return True
        known = id(part) in asked or id(part) in words
        if isinstance(part, Symbol) and not known and part.name != "kernel":
            return True
    return False


def _calls(column: Expression) -> Iterator[Call]:
    return (part for part in parts(column) if isinstance(part, Call))


def _is_bound(call: Call) -> bool:
    return isinstance(call.function, Symbol) and call.function.name == "bound"
