"""Maxima and minima as sets: associative, commutative, and a value twice counts once.

A ladder or a chain of maxima is opened from its last node down to the values that are no maximum of
the same kind, for all nodes of an event at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sassql.insight.dag import CONST, LEAF
from sassql.insight.hashing import Words, mix, pair

if TYPE_CHECKING:
    from sassql.insight.exact import Call, Exact

_NAMES = {"fmnmx": 2, "hmnmx": 2, "bmnmx": 2, "dmnmx": 2, "imnmx": 2, "imnmx64": 2, "fmnmx3": 3, "imnmx3": 3}
"""Operations, and how many values they compare; the predicate behind them says whether the least is meant."""


class Extremes:
    """Which nodes are maxima or minima, of which kind, and which of them somebody else looks at."""

    def __init__(self, forms: Exact) -> None:
        self.forms, dag = forms, forms.dag
        self.kind = np.zeros(dag.size, np.int16)
        self.wanted = np.zeros(dag.size, np.bool_)
        self.wanted[forms.wanted] = True
        self._kinds: dict[tuple[str, tuple[str, ...], int], int] = {}
        for event in dag.events:
            operation = dag.operations[event.operation]
            if operation.name not in _NAMES:
                continue
            nodes = slice(event.first, event.stop)
            least = dag.arguments[_NAMES[operation.name], nodes]
            name = operation.name.removesuffix("3")
            for predicate in np.unique(least).tolist():
                bits = dag.constant_bits(predicate)
                if bits is not None:
                    key = (name, operation.parameters, bits)
                    number = self._kinds.setdefault(key, len(self._kinds) + 1)
                    self.kind[nodes] = np.where(least == predicate, number, self.kind[nodes])
        if self._kinds:
            self._find_wanted()

    def _find_wanted(self) -> None:
        """Mark maxima that another operation, or another kind of maximum, has as an argument."""
        dag = self.forms.dag
        for event in dag.events:
            if dag.operations[event.operation].name in (CONST, LEAF):
                continue
            own = self.kind[event.first : event.stop]
            for place in range(event.count):
                arguments = dag.arguments[place, event.first : event.stop]
                kinds = self.kind[arguments]
                other = (kinds != 0) & (kinds != own)
                if other.any():
                    self.wanted[arguments[other]] = True

    def hashes(self, call: Call) -> Words:
        """The hashes of the nodes of an event; zeros for those that only maxima of their kind look at."""
        nodes, forms = call.nodes, self.forms
        found = np.zeros((len(nodes), 4), np.uint32)
        plain = self.kind[nodes] == 0
        if plain.any():
            found[plain] = mix(call.title(), pair(call.hash(0), call.hash(1)), call.hash(2))[plain]
        roots = np.flatnonzero(self.wanted[nodes] & ~plain)
        if len(roots):
            owners, leaves = self._open(nodes[roots])
            sums = np.zeros((len(roots), 4), np.uint32)
            values = mix("element", self._values(leaves))
            rows = np.unique(np.column_stack([owners.astype(np.uint32), values]), axis=0)
            np.add.at(sums, rows[:, 0], rows[:, 1:])
            single = np.bincount(rows[:, 0], minlength=len(roots)) == 1
            kinds = [str(key) for key, _ in sorted(self._kinds.items(), key=lambda item: item[1])]
            number = self.kind[nodes[roots]]
            for one in np.unique(number).tolist():
                here = number == one
                found[roots[here]] = mix(f"extreme {kinds[one - 1]}", sums[here])
            if single.any():
                first = np.searchsorted(owners, np.arange(len(roots)))
                found[roots[single]] = self._values(leaves[first[single]])
        forms.integer[nodes] = False
        return found

    def _values(self, leaves: npt.NDArray[np.int64]) -> Words:
        forms = self.forms
        found = forms.hashes[leaves]
        whole = forms.integer[leaves]
        return np.where(whole[:, None], mix("bits of an integer", found), found)

    def _open(self, roots: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Roots by number, and the values below them, sorted by root."""
        dag = self.forms.dag
        owners, front = np.arange(len(roots)), roots.astype(np.int64)
        done: list[npt.NDArray[np.int64]] = []
        three = np.array([_NAMES.get(o.name, 0) == 3 for o in dag.operations])
        while len(front):
            below = [dag.arguments[0, front], dag.arguments[1, front]]
            who = [owners, owners]
            third = three[dag.codes[front]]
            if third.any():
                below.append(dag.arguments[2, front[third]])
                who.append(owners[third])
            kinds = self.kind[roots]
            nodes, owner = np.concatenate(below).astype(np.int64), np.concatenate(who)
            pairs = np.unique(owner * np.int64(dag.size) + nodes)
            owner, nodes = pairs // dag.size, pairs % dag.size
            same = self.kind[nodes] == kinds[owner]
            done.append(pairs[~same])
            owners, front = owner[same], nodes[same]
        every = np.unique(np.concatenate(done))
        return every // dag.size, every % dag.size
