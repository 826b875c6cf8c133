"""Places of a line that pass the dear conditions behind it, remembered for what those conditions speak of.

A condition on two addresses is asked again for every third instruction that lies between the two in
the search. What it leaves depends on what it speaks of alone, so the next time only that is looked at.
What is left out here can never pass; what is kept is judged again as usual.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from sassql.engine.bindings import Bindings, bound_keys
from sassql.engine.lines import Candidate
from sassql.engine.plan import LineAtom, WhereAtom
from sassql.facts.addresses import Address

if TYPE_CHECKING:
    from sassql.engine.solve import Solver
    from sassql.engine.turns import Turns

_WORTH = 8
"""Fewer candidates are judged one by one."""
_DEAR = 15
"""Steps from which on a condition is worth remembering."""

_PATIENCE = 4
"""Answers that are remembered without one being asked for again."""


class Survivors:
    """Of one line at its turn: the candidates that are left, by what the conditions speak of besides."""

    def __init__(self, turns: Turns, place: int, bindings: Bindings) -> None:
        line = turns.found[place]
        assert isinstance(line, LineAtom)
        self._line = line
        known = bound_keys(bindings)
        new = (line.keys | {line.label}) - known
        dear = (check for check in _following(turns, place) if check.weight >= _DEAR)
        self._checks = [check for check in dear if not check.keys.isdisjoint(new)]
        spoken = {line.region, *line.keys}.union(*(check.keys for check in self._checks)) & known
        self._keys = tuple(sorted(spoken))
        others = {key for key in known if not key.startswith(("&", "%", "#"))} - spoken
        plain = spoken.isdisjoint({*bindings.uses, *bindings.lists})
        self.is_useful = bool(self._checks) and bool(others) and plain
        self._left: dict[Hashable, list[Candidate]] = {}
        self._held: dict[int, Address] = {}
        self._hits = 0

    def of(self, candidates: Sequence[Candidate], bindings: Bindings, solver: Solver) -> Sequence[Candidate]:
        """Those of ``candidates`` (what the index has for these bindings) that may pass."""
        key = (bindings.lenient, *(self._identity(key, bindings) for key in self._keys))
        left = self._left.get(key)
        if left is not None:
            self._hits += 1
        else:
            if len(self._left) >= _PATIENCE and not self._hits:
                self.is_useful = False  # each time something else: nothing is asked twice
            left = self._left[key] = [c for c in candidates if self._may_pass(c, bindings, solver)]
        return left

    def _identity(self, key: str, bindings: Bindings) -> Hashable:
        held: object = bindings.names.get(key)
        if isinstance(held, Address):
            self._held[id(held)] = held  # its number stays its own
            return id(held)
        return (held, bindings.labels.get(key), bindings.loops.get(key))

    def _may_pass(self, candidate: Candidate, bindings: Bindings, solver: Solver) -> bool:
        if bindings.uses_instruction(candidate.index):
            return True  # not here, but with other labels
        solver.budget.step(self._line.line, 3 + len(self._line.slots))
        laid = solver.view.lay(self._line, candidate, bindings)
        for check in self._checks:
            laid = laid and solver.where(check, laid)
        return laid is not None


def _following(turns: Turns, place: int) -> list[WhereAtom]:
    """The conditions that are judged right behind a line."""
    found: list[WhereAtom] = []
    for number in range(place + 1, turns.total):
        while number >= len(turns.found):
            turns.go_on()
        atom = turns.found[number]
        if not isinstance(atom, WhereAtom):
            break
        found.append(atom)
    return found


def survivors(turns: Turns, place: int, bindings: Bindings) -> Survivors:
    """What is remembered of a line at its turn."""
    found = turns.survivors.get(place)
    if found is None:
        found = turns.survivors[place] = Survivors(turns, place, bindings)
    return found


def is_worth_it(candidates: Sequence[Candidate]) -> bool:
    """Whether there are enough of them."""
    return len(candidates) >= _WORTH
