"""Motifs whose rows only say "it is there": the search keeps to what each row shows.

Such a row shows the first of its derivations (certain ones before others, then the lowest addresses
in the order of the labels), and columns that are the same for all derivations of a branch. A
derivation that could only come later changes nothing, so it is not followed. The exhaustive engine
follows all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from sassql.engine.bindings import Bindings
from sassql.engine.plan import (
    Atom,
    Conjunction,
    EveryAtom,
    KeyPart,
    LineAtom,
    MotifPlan,
    RepeatAtom,
    ScopeAtom,
)
from sassql.engine.rows import NOWHERE, Key, key_of
from sassql.lang.ast import Call, Expression, Name, Symbol
from sassql.lang.walk import parts


class Earliest:
    """The first derivation of one branch so far, by key, and what may still come before it."""

    __slots__ = ("_certain", "_key", "_keyed", "_labels", "_perhaps")

    def __init__(self, conjunction: Conjunction, key: Sequence[KeyPart]) -> None:
        self._labels = sorted(_labels(conjunction))
        self._key = key
        self._keyed = [part.name for part in key if part.name in self._labels]
        self._certain: dict[Key, list[int]] = {}
        self._perhaps: dict[Key, list[int]] = {}

    def saw(self, bindings: Bindings) -> Key | None:
        """A derivation was found; its key where it is certain."""
        key = self._key_of(bindings) or ()
        found = [bindings.labels[label][0].index for label in self._labels]
        first = self._perhaps if bindings.doubts else self._certain
        first[key] = min(found, first.get(key, found))
        return None if bindings.doubts else key

    def close(self, key: Key) -> None:
        """An earlier branch has a certain derivation, and the branch makes no difference."""
        self._certain[key] = [NOWHERE] * len(self._labels)

    def is_late(self, bindings: Bindings) -> bool:
        """True where no derivation that begins so can be the first one of its row."""
        if not self._certain and not self._perhaps:
            return False
        key = self._key_of(bindings)
        if key is None:
            return False
        certain = self._certain.get(key)
        if certain is not None and self._is_beyond(bindings, certain):
            return True
        perhaps = self._perhaps.get(key) if bindings.doubts else None
        return perhaps is not None and (certain is not None or self._is_beyond(bindings, perhaps))

    def _key_of(self, bindings: Bindings) -> Key | None:
        """The row to which a derivation belongs; None before that is known."""
        known = all(name in bindings.labels for name in self._keyed)
        return key_of(self._key, bindings) if known else None

    def _is_beyond(self, bindings: Bindings, best: list[int]) -> bool:
        for label, place in zip(self._labels, best, strict=True):
            laid = bindings.labels.get(label)
            if laid is None:
                return False
            if laid[0].index != place:
                return laid[0].index > place
        return True


def shows_first_only(plan: MotifPlan) -> bool:
    """True where each row of a motif follows from the first derivations of its branches."""
    if plan.grouped or plan.inputs or plan.outputs:
        return False
    variants = plan.scope.variants
    if not all(_is_plain(variant) for variant in variants):
        return False
    labels = {label for variant in variants for label in _labels(variant)}
    key = {part.name for part in plan.key}
    if not all(part.kind == "label" for part in plan.key) or not key <= labels:
        return False
    if key and key == labels:
        return False  # every derivation is a row of its own
    return not any(_speaks_of_a_derivation(column.value, key) for column in plan.columns)


def _labels(conjunction: Conjunction) -> list[str]:
    return [atom.label for atom in conjunction.atoms if isinstance(atom, LineAtom)]


def is_same_for_branches(plan: MotifPlan) -> bool:
    """True where no column tells which branch was taken."""
    return not any(
        _speaks_of_a_derivation(column.value, frozenset()) or any(map(_is_bound, _calls(column.value)))
        for column in plan.columns
    )


def _is_plain(variant: Conjunction) -> bool:
    """Whether each of its labels is one instruction, and nothing is judged when all are known."""
    if variant.late or variant.chains:
        return False
    return not any(_binds_lists(atom) for atom in variant.atoms)


def _binds_lists(atom: Atom) -> bool:
    return isinstance(atom, RepeatAtom | EveryAtom) or (isinstance(atom, ScopeAtom) and atom.kind == "opt")


def _speaks_of_a_derivation(column: Expression, key: Set[str]) -> bool:
    """Whether a column says more than which branch was taken, or something of the kernel or the key."""
    asked = {id(part) for call in _calls(column) for part in call.arguments if _is_bound(call)}
    words = {id(call.function) for call in _calls(column)}
    for part in parts(column):
        if isinstance(part, Name):
            return True
        known = id(part) in asked or id(part) in words
        if isinstance(part, Symbol) and not known and part.name != "kernel" and part.name not in key:
            return True
    return False


def _calls(column: Expression) -> Iterator[Call]:
    return (part for part in parts(column) if isinstance(part, Call))


def _is_bound(call: Call) -> bool:
    return isinstance(call.function, Symbol) and call.function.name == "bound"
