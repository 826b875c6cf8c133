"""The faster way: the cheapest atom first, candidates by look-up.

It finds what `naive` finds, perhaps in another order. Costs are counts of this kernel: how
many instructions a line fits, how many of them have one of the values that are bound. A line
that makes a bound value lies on one instruction; one that reads it lies on each reader.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import inf

from sassql.engine.bindings import Bindings, Occurrences
from sassql.engine.lines import Candidate
from sassql.engine.match_line import LineMatcher
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
    OrderAtom,
    PathAtom,
    RepeatAtom,
    ScopeAtom,
    SliceAtom,
    Slot,
    SlotKind,
    UseAtom,
    WhereAtom,
)
from sassql.engine.readiness import is_bound, is_check, outline
from sassql.engine.turns import Turns
from sassql.engine.values import Unit
from sassql.engine.view import View
from sassql.facts.addresses import Address
from sassql.facts.alias import spot

_KEYED = (SlotKind.VALUE, SlotKind.GUARD, SlotKind.TERM)
_LAST = 1e12
_WORTH_FILTERING = 4
"""Fewer candidates are not looked at for the loop that they lie in."""
Index = dict[Unit, list[Candidate]]


class Lookup:
    """For each line and each slot of it, candidates by the value that they have there."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._indices: dict[tuple[LineMatcher, SlotKind, int, int], Index] = {}
        self._by_spot: dict[tuple[LineMatcher, int], dict[Hashable, list[Candidate]]] = {}
        self._spots: dict[int, tuple[Address, Hashable]] = {}
        self._inside: dict[tuple[LineMatcher, int], list[Candidate]] = {}

    def candidates(self, line: LineAtom, bindings: Bindings) -> Sequence[Candidate]:
        """A superset of the candidates that agree with ``bindings``; in address order."""
        found = self._by_value(line, bindings)
        loop = bindings.loops.get(line.region)
        if loop is None or len(found) < _WORTH_FILTERING:
            return found
        if found is self._everywhere(line):
            key = (line.matcher, loop)
            if key not in self._inside:
                self._inside[key] = [c for c in found if self._view.lies_in(c.index, loop)]
            return self._inside[key]
        return [c for c in found if self._view.lies_in(c.index, loop)]

    def _everywhere(self, line: LineAtom) -> Sequence[Candidate]:
        return self._view.session.lines.candidates(line.matcher)

    def _by_value(self, line: LineAtom, bindings: Bindings) -> Sequence[Candidate]:
        best: Sequence[Candidate] | None = None
        for slot in line.slots:
            if slot.kind is SlotKind.ADDRESS:
                held = bindings.names.get(slot.key)
                if isinstance(held, Address) and not bindings.lenient:
                    found = self._at(line, slot).get(self._spot(held), [])
                    if best is None or len(found) < len(best):
                        best = found
                continue
            occurrences = bindings.value(slot.key) if slot.kind in _KEYED else ()
            if not occurrences or _is_constant(occurrences):
                continue
            index = self.index(line, slot)
            found = _merged([index.get(unit, []) for unit in occurrences[0]])
            if best is None or len(found) < len(best):
                best = found
        return self._everywhere(line) if best is None else best

    def _at(self, line: LineAtom, slot: Slot) -> dict[Hashable, list[Candidate]]:
        """Candidates of a line by the spot of their address: others are certainly not the same bytes."""
        key = (line.matcher, slot.position)
        found = self._by_spot.get(key)
        if found is None:
            found = self._by_spot[key] = {}
            for candidate in self._everywhere(line):
                address = self._view.address(slot, candidate)
                if address is not None:
                    found.setdefault(self._spot(address), []).append(candidate)
        return found

    def _spot(self, address: Address) -> Hashable:
        known = self._spots.get(id(address))
        if known is None:
            known = self._spots[id(address)] = address, spot(address)
        return known[1]

    def index(self, line: LineAtom, slot: Slot) -> Index:
        """Candidates of a line by the value in a slot."""
        key = (line.matcher, slot.kind, slot.position, slot.term)
        index = self._indices.get(key)
        if index is None:
            index = self._indices[key] = {}
            for candidate in self._everywhere(line):
                for unit in dict.fromkeys(self._view.units(slot, candidate) or ()):
                    index.setdefault(unit, []).append(candidate)
        return index


def _is_constant(occurrences: Occurrences) -> bool:
    """True for numbers: half of the kernel may read a zero."""
    return all(isinstance(unit, tuple) and unit[0] == "number" for unit in occurrences[0])


def _merged(lists: list[list[Candidate]]) -> list[Candidate]:
    if len(lists) == 1:
        return lists[0]
    unique = {id(candidate): candidate for found in lists for candidate in found}
    return sorted(unique.values(), key=lambda candidate: candidate.index)


class Indexed:
    """Orders atoms by what they cost in this kernel."""

    exhaustive = False

    def order(self, conjunction: Conjunction, view: View, bound: frozenset[str]) -> Turns:
        """Checks as soon as they can be judged, then what extends the bindings in the fewest ways."""
        return _Planned(self, conjunction, view, bound)

    def cost(self, atom: Atom, view: View, known: set[str]) -> float:
        """How many ways an atom is expected to have, and how dear it is to find them."""
        match atom:
            case LineAtom():
                return self._line(atom, view, known)
            case WhereAtom() | OrderAtom():
                return -3
            case _ if is_bound(atom, known):
                return -1
            case PathAtom():
                return -2
            case _ if is_check(atom):
                return 0
            case LoopAtom(loop=loop):
                return -3 if loop in known else len(view.loops) * 2
            case BorderAtom():
                return 0.5
            case CarryAtom(loop=loop, plain=plain, primed=primed):
                free = 1 if plain in known else 2 if primed in known else view.carries.most
                return free if loop in known else free * max(1, len(view.loops))
            case FirstAtom():
                return 40
            case UseAtom(inputs=inputs, outputs=outputs):
                count = view.count_used(atom.motif)
                return min(count, 3) if not known.isdisjoint({*inputs, *outputs}) else count
            case RepeatAtom(outer=outer):
                return 1e4 if known.isdisjoint(outer.values()) else 1e3
            case FlowAtom(source=source, target=target):
                return 1e5 if source in known or target in known else 1e7
            case ScopeAtom(kind="opt"):
                return 1e9
            case ScopeAtom() | EveryAtom():
                return 1e10
        return _LAST

    def _line(self, atom: LineAtom, view: View, known: set[str]) -> float:
        count = len(view.candidates(atom))
        best = float(count)
        for slot in atom.slots:
            if slot.key in known:
                if slot.kind in _KEYED:  # use to definition leads to one place, the other way to several
                    best = min(best, 1.0 if slot.position == 0 else 3.0)
                elif slot.kind in (SlotKind.ADDRESS, SlotKind.INTEGER):
                    best = min(best, count / 2)
        return best

    def candidates(self, line: LineAtom, view: View, bindings: Bindings) -> Sequence[Candidate]:
        """Those that have a bound value in its place."""
        return lookup(view).candidates(line, bindings)


_KEPT: dict[type[Atom], float] = {
    FlowAtom: 0.1,
    WhereAtom: 0.3,
    PathAtom: 0.4,
    OrderAtom: 0.5,
    SliceAtom: 0.7,
}
"""The share of ways that each kind of check is expected to leave."""


class _Planned(Turns):
    """The cheapest atom next. Costs are remembered until a name of the atom becomes known."""

    __slots__ = ("_atoms", "_costs", "_fixed", "_known", "_planner", "_view", "_waiting")

    def __init__(self, planner: Indexed, conjunction: Conjunction, view: View, bound: frozenset[str]) -> None:
        self._fixed = outline(conjunction)
        super().__init__((), len(conjunction.atoms) + len(self._fixed.again))
        self._planner, self._view = planner, view
        self._atoms = conjunction.atoms
        self._waiting = list(range(len(conjunction.atoms)))
        self._known = set(bound)
        self._costs: dict[int, float] = {}

    @property
    def open(self) -> Sequence[Atom]:
        return [self._atoms[number] for number in self._waiting]

    def go_on(self) -> None:
        """Decide on one more atom; behind the last one, on all that are judged again."""
        waiting, known = self._waiting, self._known
        if not waiting:
            self.found += self._fixed.again
            return
        needed = self._fixed.needed
        ready = [number for number in waiting if needed[number] <= known] or waiting
        best = ready[0] if len(ready) == 1 else self._cheapest(ready)
        waiting.remove(best)
        self.found.append(self._atoms[best])
        new = self._fixed.bound[best] - known
        known |= new
        if new:
            for number in waiting:
                if number in self._costs and not self._atoms[number].keys.isdisjoint(new):
                    del self._costs[number]

    def _cheapest(self, ready: Sequence[int]) -> int:
        """The first of those that cost least; used motifs are only looked at where no line rules all out."""
        costs, late = self._costs, []
        best, least = -1, inf
        for number in ready:
            cost = costs.get(number)
            if cost is None:
                atom = self._atoms[number]
                if isinstance(atom, UseAtom):
                    late.append(number)
                    continue
                cost = costs[number] = self._planner.cost(atom, self._view, self._known)
            share = cost * self._share(number)
            if share < least:
                best, least = number, share
        for number in late if least > 0 else ():
            cost = costs[number] = self._planner.cost(self._atoms[number], self._view, self._known)
            share = cost * self._share(number)
            if share < least or (share == least and number < best):
                best, least = number, share
        return best

    def _share(self, number: int) -> float:
        """The share of an atom's ways that is left by the checks that can be judged right behind it."""
        share = 1.0
        if self._fixed.checks[number]:
            after = self._known | self._fixed.bound[number]
            for check in self._fixed.checks[number]:
                if check in self._waiting and self._atoms[check].keys <= after:
                    share *= _KEPT[type(self._atoms[check])]
        return share


def lookup(view: View) -> Lookup:
    """The indices of a view's session."""
    kept = view.session
    if kept.lookup is None:
        kept.lookup = Lookup(view)
    return kept.lookup


INDEXED = Indexed()
